import { afterEach, expect, test } from 'vitest';
import { simulatedNames, simulatedProvider } from '../../server/practice/provider.ts';
import { type PracticeUpstream, startPracticeUpstream } from '../../server/practice/upstream.ts';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { createTestGateway } from '../support/gateway.ts';

const running: PracticeUpstream[] = [];
afterEach(async () => {
  for (const upstream of running.splice(0)) await upstream.stop();
});

function play(name: string, strict: boolean) {
  const provider = simulatedProvider(name, strict);
  if (provider === null) throw new Error(name);
  const lines: string[] = [];
  const upstream = startPracticeUpstream({ port: 0, chunks: 3, provider, log: (line) => lines.push(line) });
  running.push(upstream);
  return { provider, lines, url: upstream.url };
}

const messages = [{ role: 'user', content: 'hi' }];
const openai = (url: string, body: object, key = 'sk-practice') =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ messages, ...body }),
  });

test('each provider that can be played answers a channel of its type, whole and streamed, when it is strict', async () => {
  const gateway = await createTestGateway({ engine: 'sqlite', quota: 1e12 });
  const { key } = await gateway.token();
  const failed: string[] = [];
  for (const name of simulatedNames) {
    const { provider, url, lines } = play(name, true);
    const model =
      provider.models.find((one) =>
        /claude|gemini|gpt|chat|command|llama|qwen|deepseek|mistral|grok|sonar/i.test(one),
      ) ?? 'm';
    const named = `${name}-${model}`;
    await gateway.channel(url, {
      type: providerBySlug(name)?.type ?? 0,
      models: named,
      model_mapping: JSON.stringify({ [named]: model }),
      key: provider.key,
      other: name === 'cloudflare' ? 'account' : '',
    });
    await gateway.option('ModelRatio', JSON.stringify({ [named]: 1 }));
    for (const stream of [false, true]) {
      const response = await gateway.chat(key, { model: named, messages, stream });
      const text = await response.text();
      if (response.status !== 200 || !text.includes('practice'))
        failed.push(`${name} ${stream}: ${text} ${lines.join()}`);
    }
  }
  expect(simulatedNames.length).toBeGreaterThan(30);
  expect(failed).toEqual([]);
});

test('a strict provider refuses what its rows refuse and names the rule; one that is not strict takes it', async () => {
  const strict = play('openai', true);
  const rejected = await openai(strict.url, { model: 'o3-mini', temperature: 0.2 });
  expect(rejected.status).toBe(400);
  expect(await rejected.json()).toMatchObject({ error: { message: expect.stringContaining('temperature') } });
  expect(strict.lines.at(-1)).toContain('row/openai/models');
  expect((await openai(strict.url, { model: 'gpt-4o-mini', temperature: 0.2 })).status).toBe(200);
  const lenient = play('openai', false);
  expect((await openai(lenient.url, { model: 'o3-mini', temperature: 0.2 })).status).toBe(200);
});

test('the key is looked for where the provider takes it', async () => {
  const { url } = play('openai', false);
  expect((await openai(url, { model: 'gpt-4o-mini' }, 'sk-other')).status).toBe(401);
  const anthropic = play('anthropic', false);
  const ask = (headers: Record<string, string>) =>
    fetch(`${anthropic.url}/v1/messages`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'claude-haiku-4-5', max_tokens: 8, messages }),
    });
  expect(await (await ask({ authorization: 'Bearer sk-practice' })).json()).toMatchObject({
    type: 'error',
    error: { type: 'authentication_error' },
  });
  expect((await ask({ 'x-api-key': 'sk-practice' })).status).toBe(200);
});

test('a provider without a wire that rows describe is not played', () => {
  expect(simulatedProvider('vertex', true)).toBeNull();
  expect(simulatedProvider('nothing', true)).toBeNull();
});
