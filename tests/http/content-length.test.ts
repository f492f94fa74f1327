/** Lengths told twice, on a raw connection: what agrees is one, what does not is refused. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createConnections, defaultConnectionLimits } from '../../server/http/connections.ts';
import { type HttpServer, openHttpServer } from '../../server/http/http-server.ts';
import type { Relay } from '../../server/relay/relay.ts';

let dir: string;
let door: HttpServer;
const control = createServer((request, response) => {
  let received = '';
  request.on('data', (chunk: Buffer) => {
    received += chunk.toString();
  });
  request.on('end', () => response.end(`control ${received}`));
});

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'length-'));
  const controlSocket = join(dir, 'control.sock');
  await new Promise<void>((resolve) => control.listen(controlSocket, resolve));
  door = openHttpServer({
    host: '127.0.0.1',
    port: 0,
    connections: createConnections(defaultConnectionLimits, null, Date.now),
    mayServe: () => true,
    controlSocket,
    isTrustedProxy: () => false,
    consoleAsset: () => null,
    relay: {
      reject: () => null,
      handle: async (request: Request) => new Response(`relay ${await request.text()}`),
      open: () => 0,
    } as unknown as Relay,
  });
});
afterEach(async () => {
  await door.stop(0);
  control.closeAllConnections();
  await new Promise((resolve) => control.close(resolve));
  rmSync(dir, { recursive: true });
});

function ask(path: string, headers: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let answer = '';
  const socket = connect(door.port, '127.0.0.1', () =>
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\nhello`),
  );
  socket.on('data', (chunk) => {
    answer += chunk.toString();
  });
  socket.on('close', () => resolve(answer));
  socket.on('error', reject);
  return promise;
}

test.each([
  ['/api/user/login', 'control hello'],
  ['/v1/chat/completions', 'relay hello'],
])('two equal lengths of %s are one', async (path, said) => {
  for (const headers of ['Content-Length: 5\r\n', 'Content-Length: 5\r\ncontent-length: 5\r\n']) {
    const answer = await ask(path, headers);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toContain(said);
  }
});

test.each([
  'Content-Length: 5\r\nContent-Length: 4\r\n',
  'Content-Length: 5, 5\r\n',
  'Content-Length: +5\r\n',
  'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
])('%j is refused by the listener', async (headers) => {
  for (const path of ['/api/user/login', '/v1/chat/completions']) {
    expect(await ask(path, headers)).toMatch(/^HTTP\/1\.1 400 /);
  }
});
