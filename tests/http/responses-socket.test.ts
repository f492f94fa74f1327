/** A socket for responses through the listener: OpenAI's own client, both addresses, the limits of frames, and a server that hands over. */
import { join } from 'node:path';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createConnections, defaultConnectionLimits } from '../../server/http/connections.ts';
import { type HttpServer, openHttpServer } from '../../server/http/http-server.ts';
import { bodyOf, numbered } from '../support/responses-upstream.ts';
import { sharedGateway } from '../support/shared-gateway.ts';

const { gateway, upstream, key, row } = await sharedGateway();

const open = (forwardedSocket = ''): HttpServer =>
  openHttpServer({
    host: '127.0.0.1',
    port: 0,
    forwardedSocket,
    relay: gateway.relay,
    mayServe: () => true,
    controlSocket: '/nonexistent',
    isTrustedProxy: () => false,
    consoleAsset: () => null,
    connections: createConnections(defaultConnectionLimits, null, Date.now),
  });
let door: HttpServer;

beforeAll(async () => {
  await gateway.option('general_setting.responses_sockets', 'true');
  door = open();
});
afterAll(() => door.stop(0));

interface Client {
  readonly socket: WebSocket;
  readonly frames: { readonly type: string; readonly response?: { readonly id: string } }[];
  readonly closed: Promise<number>;
}

async function connect(path = '/v1/responses', { port }: HttpServer = door): Promise<Client> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, {
    headers: { authorization: `Bearer sk-${key}` },
  } as unknown as string[]);
  const frames: Client['frames'] = [];
  socket.onmessage = ({ data }) => void frames.push(JSON.parse(String(data)) as Client['frames'][number]);
  const closed = new Promise<number>((resolve) => {
    socket.onclose = ({ code }) => resolve(code);
  });
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error('refused'));
  });
  return { socket, frames, closed };
}

const turn = (input: unknown, previous?: string) =>
  JSON.stringify({
    type: 'response.create',
    model: 'gpt-4o-mini',
    store: false,
    input,
    previous_response_id: previous,
  });
const ended = ({ frames }: Client) => frames.filter(({ type }) => type === 'response.completed');

test('OpenAI’s own client has a conversation of two turns over one socket', async () => {
  await gateway.channel(upstream.url);
  upstream.script(numbered());
  const client = new ResponsesWS(new OpenAI({ apiKey: `sk-${key}`, baseURL: `http://127.0.0.1:${door.port}/v1` }));
  const said: string[] = [];
  for (const text of ['one', 'two']) {
    const previous = said.at(-1);
    client.send({
      type: 'response.create',
      model: 'gpt-4o-mini',
      store: false,
      input: text,
      ...(previous === undefined ? {} : { previous_response_id: previous }),
    });
    const id = await new Promise<string>((resolve, reject) => {
      client.once('response.completed', ({ response }) => resolve(response.id));
      client.once('error', reject);
    });
    said.push(id);
  }
  client.close();
  expect(said).toEqual(['resp_1', 'resp_2']);
  expect(bodyOf(upstream.requests[1] ?? ({ body: Buffer.from('{}') } as never)).input).toMatchObject([
    { role: 'user', content: 'one' },
    { role: 'assistant' },
    { role: 'user', content: 'two' },
  ]);
  expect(await row()).toMatchObject({ end_reason: 'completed', prompt_tokens: 10, completion_tokens: 5 });
});

test.each(['/responses', '/v1/responses/', '/openai/v1/responses'])('a socket opens at %s, too', async (path) => {
  await gateway.channel(upstream.url);
  upstream.script(numbered());
  const client = await connect(path);
  client.socket.send(turn('hi'));
  await expect.poll(() => ended(client).length).toBe(1);
  client.socket.close();
  await client.closed;
  await expect.poll(() => gateway.relay.stats().sockets.open).toBe(0);
});

test('a frame beyond 16 MB ends its socket, and no other', async () => {
  const [large, other] = [await connect(), await connect()];
  large.socket.send('x'.repeat(16 * 1024 * 1024 + 1));
  expect(await large.closed).not.toBe(1000);
  expect(other.socket.readyState).toBe(WebSocket.OPEN);
  other.socket.close();
  await other.closed;
});

test('over a connection of the server before, turns run at the one that took over, and a refusal keeps its status', async () => {
  await gateway.channel(upstream.url);
  upstream.script(numbered('over'));
  const endpoint = join(gateway.dir, 'inner');
  const [before, after] = [open(), open(endpoint)];
  before.forwardTo(endpoint);
  const client = await connect('/v1/responses', before);
  client.socket.send(turn('one'));
  await expect.poll(() => ended(client).length).toBe(1);
  client.socket.send(turn('two', ended(client)[0]?.response?.id));
  await expect.poll(() => ended(client).length).toBe(2);
  expect(bodyOf(upstream.requests[1] ?? ({ body: Buffer.from('{}') } as never)).input).toHaveLength(3);
  client.socket.close();
  await client.closed;
  await gateway.option('general_setting.responses_sockets', 'false');
  const refused = await fetch(`http://127.0.0.1:${before.port}/v1/responses`, {
    headers: {
      authorization: `Bearer sk-${key}`,
      connection: 'upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    },
  });
  expect(refused.status).toBe(426);
  await gateway.option('general_setting.responses_sockets', 'true');
  await before.stop(0);
  await after.stop(0);
});
