/** A channel's system prompt in the bodies of each protocol. */
import { expect, test } from 'vitest';
import type { ChatRequest } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { promptedBody, promptedRequest, systemPromptOf } from '../../server/routing/system-prompt.ts';

const alone = { text: 'Ours.', before: false };
const before = { text: 'Ours.', before: true };
const user = { role: 'user', content: 'hi' };
const block = { type: 'text', text: 'Theirs.' };

const cases: [keyof typeof codecs, object, object, object | null][] = [
  ['openai-chat', { messages: [user] }, { messages: [{ role: 'system', content: 'Ours.' }, user] }, null],
  [
    'openai-chat',
    { messages: [user, { role: 'developer', content: 'Theirs.' }] },
    { messages: [user, { role: 'developer', content: 'Theirs.' }] },
    { messages: [user, { role: 'developer', content: 'Ours.\nTheirs.' }] },
  ],
  [
    'openai-chat',
    { messages: [{ role: 'system', content: [block] }, user] },
    { messages: [{ role: 'system', content: [block] }, user] },
    { messages: [{ role: 'system', content: [{ type: 'text', text: 'Ours.' }, block] }, user] },
  ],
  ['ollama-chat', { messages: [user] }, { messages: [{ role: 'system', content: 'Ours.' }, user] }, null],
  ['cohere-chat', { messages: [user] }, { messages: [{ role: 'system', content: 'Ours.' }, user] }, null],
  ['anthropic-messages', { messages: [user] }, { messages: [user], system: 'Ours.' }, null],
  ['anthropic-messages', { system: 'Theirs.' }, { system: 'Theirs.' }, { system: 'Ours.\nTheirs.' }],
  ['anthropic-messages', { system: [] }, { system: 'Ours.' }, null],
  [
    'anthropic-messages',
    { system: [block] },
    { system: [block] },
    { system: [{ type: 'text', text: 'Ours.' }, block] },
  ],
  ['openai-responses', { input: 'hi' }, { input: 'hi', instructions: 'Ours.' }, null],
  ['openai-responses', { instructions: null }, { instructions: 'Ours.' }, null],
  ['openai-responses', { instructions: 'Theirs.' }, { instructions: 'Theirs.' }, { instructions: 'Ours.\nTheirs.' }],
  ['gemini-generate', {}, { systemInstruction: { parts: [{ text: 'Ours.' }] } }, null],
  [
    'gemini-generate',
    { system_instruction: { parts: [{ text: 'Theirs.' }] } },
    { system_instruction: { parts: [{ text: 'Theirs.' }] } },
    { system_instruction: { parts: [{ text: 'Ours.' }, { text: 'Theirs.' }] } },
  ],
];
test.each(cases)('%s: %j', (id, body, plain, overridden) => {
  const { systemPlace } = codecs[id].definition;
  expect(promptedBody(body as never, systemPlace, alone)).toEqual(plain);
  expect(promptedBody(body as never, systemPlace, before)).toEqual(overridden ?? plain);
});

test('a request that is translated has it as its first message, or before its own', () => {
  const said = (role: string, text: string) => ({ role, parts: [{ type: 'text', text }] });
  const chat = (...messages: object[]) => ({ messages }) as unknown as ChatRequest;
  const [ask, own, picture] = [
    said('user', 'hi'),
    said('developer', 'Theirs.'),
    { role: 'system', parts: [{ type: 'image' }] },
  ];
  const at = (prompt: typeof alone, ...messages: object[]) => promptedRequest(chat(...messages), prompt).messages;
  expect(at(alone, ask)).toEqual([said('system', 'Ours.'), ask]);
  expect(at(before, ask)).toEqual([said('system', 'Ours.'), ask]);
  expect(at(alone, ask, own)).toEqual([ask, own]);
  expect(at(before, ask, own)).toEqual([ask, said('developer', 'Ours.\nTheirs.')]);
  expect(at(before, picture)).toEqual([
    { role: 'system', parts: [{ type: 'text', text: 'Ours.' }, { type: 'image' }] },
  ]);
});

test.each([
  [{}, null],
  [{ system_prompt: '  ' }, null],
  [{ system_prompt: 5, system_prompt_override: true }, null],
  [{ system_prompt_override: true }, null],
  [
    { system_prompt: 'a', system_prompt_override: 'true' },
    { text: 'a', before: false },
  ],
  [
    { system_prompt: 'a', system_prompt_override: true },
    { text: 'a', before: true },
  ],
])('of the setting %j', (setting, prompt) => {
  expect(systemPromptOf({ setting })).toEqual(prompt);
});

test('an empty spelling beside the one with words is not the one that is changed', () => {
  const own = { parts: [{ text: 'Theirs.' }] };
  const place = { member: 'systemInstruction', form: 'parts' } as const;
  const body = { system_instruction: null, systemInstruction: own };
  expect(promptedBody(body, place, alone)).toBe(body);
  expect(promptedBody(body, place, before)).toEqual({
    ...body,
    systemInstruction: { parts: [{ text: 'Ours.' }, { text: 'Theirs.' }] },
  });
});
