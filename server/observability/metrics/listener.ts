/** Metrics for monitors, at an address of their own: callers of the relay cannot read them, and readers take no connections from the relay. */
import { timingSafeEqual } from 'node:crypto';
import { AppError } from '../../contract/errors.ts';

export interface MetricsAddress {
  readonly host: string;
  readonly port: number;
}

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

/**
 * @param input `9464`, `127.0.0.1:9464`, `[::1]:9464`; '' = no figures.
 * @throws AppError usage when it is no address, or one that others can reach and no token protects it.
 */
export function metricsAddress(input: string, token: string): MetricsAddress | null {
  if (input === '') return null;
  const [, host = '127.0.0.1', digits = ''] = /^(?:\[?([^\]]*?)\]?:)?(\d+)$/.exec(input) ?? [];
  const port = Number(digits);
  if (digits === '' || port > 65_535) throw new AppError('usage', { detail: `--metrics ${input}: [host:]port` });
  if (!loopback.has(host) && token === '')
    throw new AppError('usage', { detail: `--metrics ${input}: GATEWAY_METRICS_TOKEN` });
  return { host, port };
}

const sameText = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
};

export interface MetricsDeps {
  /** '' = everyone who reaches the address may read. */
  readonly token: string;
  readonly contentType: string;
  readonly text: () => Promise<string>;
}

/** @throws AppError port_taken. */
export function serveMetrics(
  { host, port }: MetricsAddress,
  deps: MetricsDeps,
): { readonly port: number; stop(): void } {
  try {
    const server = Bun.serve({
      hostname: host,
      port,
      async fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname !== '/metrics') return new Response('/metrics\n', { status: 404 });
        const header = request.headers.get('authorization') ?? '';
        if (deps.token !== '' && !sameText(header, `Bearer ${deps.token}`))
          return new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } });
        return new Response(await deps.text(), { headers: { 'content-type': deps.contentType } });
      },
    });
    return { port: server.port ?? port, stop: () => void server.stop(true) };
  } catch (error) {
    throw (error as { code?: unknown }).code === 'EADDRINUSE' ? new AppError('port_taken', { port }, error) : error;
  }
}
