/** The door, when more comes than can be served: who is turned away is answered before anything is kept of them. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Connections, createConnections, defaultConnectionLimits } from '../../server/http/connections.ts';
import { type HttpServer, openHttpServer } from '../../server/http/http-server.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let door: HttpServer;
let isOverloaded = false;
let calls: string[] = [];

const seen = (connections: Connections): Connections => ({
  ...connections,
  begin(request) {
    calls.push(request.url);
    return connections.begin(request);
  },
});

beforeEach(async () => {
  isOverloaded = false;
  calls = [];
  gateway = await createTestGateway({ relay: { isOverloaded: () => isOverloaded } });
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini' });
  door = openHttpServer({
    host: '127.0.0.1',
    port: 0,
    relay: gateway.relay,
    connections: seen(createConnections(defaultConnectionLimits, null, Date.now)),
    mayServe: () => true,
    controlSocket: '/nonexistent',
    isTrustedProxy: () => false,
    consoleAsset: () => null,
  });
});
afterEach(async () => {
  await door.stop(0);
  await gateway.close();
  await upstream.stop();
});

/** One connection, as long as it lasts. */
async function connect() {
  let text = '';
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: door.port,
    socket: {
      data(_socket, bytes) {
        text += bytes.toString();
      },
    },
  });
  return {
    send: (more: string) => socket.write(more),
    statuses: () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status)),
    end: () => socket.end(),
  };
}

test('a refused request’s body is not kept, and its connection serves on, whatever was sent over it', async () => {
  const { key } = await gateway.token({});
  const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'x'.repeat(20_000) }] });
  const request = `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer sk-${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const line = await connect();
  isOverloaded = true;
  line.send(request);
  await expect.poll(line.statuses).toEqual([503]);
  // Its second half comes when the answer is there already.
  line.send(request.slice(0, -10_000));
  await expect.poll(line.statuses).toEqual([503, 503]);
  expect(calls).toEqual([]);
  isOverloaded = false;
  line.send(request.slice(-10_000));
  line.send(request);
  await expect.poll(line.statuses).toEqual([503, 503, 200]);
  expect(calls).toHaveLength(1);
  expect(upstream.requests).toHaveLength(1);
  line.end();
});

test('the console is not turned away with the rest', async () => {
  isOverloaded = true;
  const response = await fetch(`http://127.0.0.1:${door.port}/api/status`);
  // Nobody is behind this door, and that is what is told.
  expect(await response.json()).toMatchObject({ code: 'internal' });
});
