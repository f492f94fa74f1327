/** Whether requests are traced, and where traces go: said once at the start. */
import { AppError } from '../../contract/errors.ts';

export interface TraceSettings {
  /** The URL of the collector, path included. */
  readonly url: string;
  /** Part of the requests that is traced where their caller did not decide, 0 to 1. */
  readonly share: number;
  /** Prompts stand in the spans. */
  readonly content: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;
const defaultShare = 0.1;
const signalPath = '/v1/traces';

/** An address without a path is a collector's own. */
function withPath(input: string): string {
  if (!/^https?:\/\//.test(input) || !URL.canParse(input))
    throw new AppError('usage', { detail: `--traces ${input}: http://127.0.0.1:4318` });
  const url = new URL(input);
  return url.pathname === '/' ? new URL(signalPath, url).href : url.href;
}

/** As OpenTelemetry has it: the general address gets the signal's path, the signal's own is taken as it is. */
function fromStandard({
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own,
  OTEL_EXPORTER_OTLP_ENDPOINT: all,
}: Environment): string {
  if (own) return own;
  return all ? `${all.replace(/\/+$/, '')}${signalPath}` : '';
}

export interface TraceSettingsInput {
  readonly url: string | undefined;
  readonly share: string | undefined;
}

/** @param flags of the command line, which win over the environment. @returns null = nothing is traced, and nothing sent. @throws AppError usage */
export function traceSettings(flags: TraceSettingsInput, env: Environment): TraceSettings | null {
  const url = flags.url ?? (env.GATEWAY_TRACES || fromStandard(env));
  if (url === '' || url === 'off' || env.OTEL_SDK_DISABLED === 'true') return null;
  const share = Number(flags.share ?? (env.GATEWAY_TRACE_SHARE || defaultShare));
  if (!(share >= 0 && share <= 1))
    throw new AppError('usage', { detail: `--trace-share ${flags.share ?? share}: 0-1` });
  return { url: withPath(url), share, content: env.GATEWAY_TRACE_CONTENT === '1' };
}
