// @vitest-environment happy-dom
/** A request as it would go upstream, in the console: what is shown of it, what is refused, and what is asked. */
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RequestPreview } from '../../web/features/channels/request-preview.tsx';
import { type Mounted, mounted, unmounted } from './mounted.tsx';

const chat = (content: string): string => JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content }] });
/** As the gateway answers: what it is asked without a body is a short chat. */
function preview({ model, body = chat(`a chat with ${model}`) }: { readonly model?: string; readonly body?: string }) {
  if (body.includes('"none"')) return { refused: 'messages 必须是列表' };
  return {
    ...{ channel_id: 21, channel_name: 'up', model: 'gpt-4o', upstream_model: 'gpt-4o', dialect: 'openai-chat' },
    ...{ translated: false, signed: body.includes('sign'), dropped: body.includes('drop') ? ['seed', 'top_p'] : [] },
    url: 'https://up.example/v1/chat/completions',
    headers: { authorization: 'Bearer {api_key}', 'x-site': 'acme' },
    body,
  };
}

let page: Mounted;
beforeEach(async () => {
  page = await mounted(() => <RequestPreview channel={21} model="gpt-4o" />, { answers: { 'route.preview': preview } });
});
afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

const shown = (): string => document.querySelector('pre')?.textContent ?? '';
const refused = (): string => document.querySelector('[role="status"]')?.textContent ?? '';
async function previewOf(body: string): Promise<void> {
  await page.type('请求体', body);
  await page.press('预览');
}

test('address, headers and body are shown, as of a request of HTTP', async () => {
  await page.press('预览');
  await page.until(() => expect(shown()).toContain('POST https://up.example/v1/chat/completions'));
  const [head = '', body = ''] = shown().split('\n\n');
  expect(head.split('\n').slice(1)).toEqual(['authorization: Bearer {api_key}', 'x-site: acme']);
  expect(JSON.parse(body)).toEqual(JSON.parse(chat('Hello')));
  expect([refused(), page.text().includes('签名'), page.text().includes('不发送：')]).toEqual(['', false, false]);
});

test('a signature that is added later, and members that are left out, are named', async () => {
  await previewOf(chat('sign and drop'));
  await page.until(() => expect(page.text()).toContain('发送时加上服务商的签名或令牌。'));
  expect(page.text()).toContain('不发送：seed; top_p');
});

test.each(['{', '[1]', '"text"', '{"model":"gpt-4o"} x'])(
  '%s is no body: it says so, and asks nothing',
  async (body) => {
    await previewOf(body);
    expect(page.text()).toContain('必须是合法的 JSON 对象');
    expect(page.calls).toEqual([]);
    expect([shown(), refused()]).toEqual(['', '']);
  },
);

test('what the gateway refuses takes the place of what was shown, and goes with the next preview', async () => {
  await previewOf(chat('first'));
  await page.until(() => expect(shown()).toContain('first'));
  await previewOf('{"model":"gpt-4o","messages":"none"}');
  await page.until(() => expect(refused()).toBe('messages 必须是列表'));
  expect(shown()).toBe('');
  await previewOf(chat('again'));
  await page.until(() => expect(shown()).toContain('again'));
  expect(refused()).toBe('');
});

test('without a body, a short chat with the model is asked for', async () => {
  await previewOf('  ');
  await page.until(() => expect(shown()).toContain('a chat with gpt-4o'));
});
