/** The playground as the family's own player calls it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
import { VirtualTime } from '../support/virtual-time.ts';

let gateway: TestGateway;
let upstream: Upstream;
let time: VirtualTime;
beforeEach(async () => {
  time = new VirtualTime();
  gateway = await createTestGateway({ relay: { timers: time } });
  upstream = await startUpstream((response) => sendJson(response, {}));
  await gateway.channel(upstream.url);
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const play = (more: object): Promise<Response> =>
  gateway.relay.handle(
    new Request('http://gateway/pg/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'New-Api-User': String(gateway.userId) },
      body: JSON.stringify({
        messages: [{ role: 'user', content: 'hi' }],
        stream: true,
        model: 'gpt-4o-mini',
        group: 'default',
        temperature: 0,
        ...more,
      }),
    }),
    '/pg/chat/completions',
    { ip: () => '127.0.0.1' },
  );
const frame = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;

/** As sse.js of that player reads: blocks between blank lines, lines with a colon in front are no field, data is JSON or [DONE]. */
function asThePlayerReads(text: string): string {
  let words = '';
  for (const block of text.split(/\n\n/).filter((one) => one !== '')) {
    let data = '';
    for (const line of block.split('\n')) if (line.startsWith('data:')) data += line.slice(5).trim();
    if (data === '[DONE]') return words;
    words += (JSON.parse(data) as { choices: { delta: { content?: string } }[] }).choices[0]?.delta.content ?? '';
  }
  return words;
}

test.each([0, null])('a limit of %s is none', async (limit) => {
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${frame('hi')}data: [DONE]\n\n`);
  });
  const response = await play({ max_tokens: limit });
  expect([response.status, asThePlayerReads(await response.text())]).toEqual([200, 'hi']);
  expect(JSON.parse(upstream.requests[0]?.body.toString() ?? '')).not.toHaveProperty('max_tokens');
});

test('a limit that is one is kept', async () => {
  await play({ max_tokens: 7, stream: false });
  expect(JSON.parse(upstream.requests[0]?.body.toString() ?? '')).toMatchObject({ max_tokens: 7, temperature: 0 });
});

test('signs of life lose the player no word', async () => {
  await gateway.option('general_setting.ping_interval_enabled', 'true');
  await gateway.option('general_setting.ping_interval_seconds', '1');
  let finish: () => unknown = () => undefined;
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame('one '));
    finish = () => response.end(`${frame('two')}data: [DONE]\n\n`);
  });
  const { body } = await play({});
  let text = '';
  const over = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of body ?? []) text += decoder.decode(chunk, { stream: true });
  })();
  await expect.poll(() => text, { interval: 2 }).toContain('one');
  await time.advance(900);
  expect(text).not.toContain('PING');
  await time.advance(200);
  await expect.poll(() => text, { interval: 2 }).toContain(': PING');
  finish();
  await over;
  expect(asThePlayerReads(text)).toBe('one two');
});
