/** Tools of a dialect that the client runs itself: elsewhere they are functions with their published schema, and at home what they were. */
import { expect, test } from 'vitest';
import { codecs } from '../../server/protocols/registry.ts';
import { unknownTarget } from '../../server/protocols/target.ts';

const tools = [
  { type: 'bash_20250124', name: 'bash' },
  { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 10_000 },
  { type: 'memory_20250818', name: 'memory' },
];
const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], tools };
const decoded = codecs['anthropic-messages'].translation.decodeRequest(body, { model: 'm', stream: false });
const toolsSent = (dialect: keyof typeof codecs) => {
  const dropped: string[] = [];
  return { sent: codecs[dialect].translation.encodeRequest(decoded, dropped, unknownTarget), dropped };
};

test.each(['openai-chat', 'openai-responses', 'gemini-generate', 'cohere-chat', 'ollama-chat'] as const)(
  'bash, the editor and the memory are offered to %s',
  (dialect) => {
    const { sent, dropped } = toolsSent(dialect);
    expect(dropped.filter((loss) => loss.startsWith('/tools'))).toEqual([]);
    const text = JSON.stringify(sent.tools);
    for (const { name } of tools) expect(text).toContain(`"name":"${name}"`);
    for (const word of ['"restart"', '"insert_line"', '"old_path"']) expect(text).toContain(word);
  },
);

test('their own dialect gets them as they are', () => {
  expect(toolsSent('anthropic-messages').sent.tools).toEqual(tools);
});

test('of tools that a client of responses runs it is said what they are', () => {
  const request = { model: 'm', input: 'hi', tools: [{ type: 'local_shell' }, { type: 'apply_patch' }] };
  const requested = codecs['openai-responses'].translation.decodeRequest(request, { model: 'm', stream: false });
  const dropped: string[] = [];
  codecs['openai-chat'].translation.encodeRequest(requested, dropped, unknownTarget);
  expect(dropped).toEqual([
    '/tools/0: local_shell has a form that only its own dialect knows',
    '/tools/1: apply_patch has a form that only its own dialect knows',
  ]);
});
