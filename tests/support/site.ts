/** A site as strangers reach it: the real front door over the API of a test gateway, and bytes sent as one likes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createApp } from '../../server/http/app.ts';
import { createConnections, defaultConnectionLimits } from '../../server/http/connections.ts';
import { createConsoleAssets } from '../../server/http/console-assets.ts';
import { openHttpServer } from '../../server/http/http-server.ts';
import { createTestGateway, type TestGatewayOptions } from './gateway.ts';

export interface Raw {
  readonly status: number;
  readonly type: string;
  readonly headers: string;
  readonly body: string;
}

/** Sends these bytes and reads until the other side closes or the body is whole. */
export function sendRaw(port: number, head: readonly string[], body: string | Uint8Array = ''): Promise<Raw> {
  const { promise, resolve, reject } = Promise.withResolvers<Raw>();
  const socket = connect(port, '127.0.0.1');
  const chunks: Uint8Array[] = [];
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  socket.on('connect', () => {
    socket.write(Buffer.from(`${head.join('\r\n')}\r\nConnection: close\r\nContent-Length: ${bytes.length}\r\n\r\n`));
    socket.write(bytes);
  });
  socket.on('data', (chunk: Uint8Array) => void chunks.push(chunk));
  socket.on('error', reject);
  socket.on('close', () => {
    const text = Buffer.concat(chunks).toString('utf8');
    const end = text.indexOf('\r\n\r\n');
    const headers = text.slice(0, end).toLowerCase();
    resolve({
      status: Number(/^HTTP\/1\.\d (\d+)/.exec(text)?.[1] ?? 0),
      type: /^content-type: *([^;\r\n]+)/m.exec(headers)?.[1] ?? '',
      headers,
      body: text.slice(end + 4),
    });
  });
  return promise;
}

/** Stands for the built console. */
const page = resolve(import.meta.dirname, '../../web/index.html');

/** @param options those of the gateway, and the path under which a proxy would serve it. */
export async function createSite({
  basePath = '',
  ...gatewayOptions
}: TestGatewayOptions & { readonly basePath?: string } = {}) {
  const gateway = await createTestGateway(gatewayOptions);
  const dir = mkdtempSync(join(tmpdir(), 'site-'));
  const controlSocket = join(dir, 'control.sock');
  const reported: unknown[] = [];
  const control = createServer(
    createApp({
      services: gateway.services,
      listener: 'network',
      requestId: () => 'req',
      report: (error) => void reported.push(error),
      changed: gateway.sync,
    }),
  );
  await new Promise<void>((resolve) => control.listen(controlSocket, resolve));
  const door = openHttpServer({
    host: '127.0.0.1',
    port: 0,
    basePath,
    relay: gateway.relay,
    connections: createConnections(defaultConnectionLimits, null, Date.now),
    mayServe: () => true,
    controlSocket,
    isTrustedProxy: (address) => gateway.state.settings.isTrustedProxy(address),
    secureHost: () => gateway.state.settings.secureHost,
    consoleAsset: createConsoleAssets(() => gateway.state.settings, basePath, [
      { path: '/index.html', plain: page, brotli: null },
    ]),
  });
  return {
    gateway,
    /** Errors nobody expected. */
    reported,
    port: door.port,
    url: `http://127.0.0.1:${door.port}`,
    async close() {
      await door.stop(10);
      control.closeAllConnections();
      control.close();
      await gateway.close();
      rmSync(dir, { recursive: true });
    },
  };
}

export type Site = Awaited<ReturnType<typeof createSite>>;
