/** For whom a request was made and by what, as real programs say it: their requests were recorded at the versions that are named. */
import { expect, test } from 'vitest';
import { namesOf } from '../../server/relay/intake/names.ts';

type Headers_ = Readonly<Record<string, string>>;
const read = (headers: Headers_, body: Readonly<Record<string, unknown>> = {}, operation = 'chat') =>
  namesOf({ clientHeaders: headers, body, operation: operation as 'chat' });

const codexTurn = (more: object = {}) =>
  JSON.stringify({
    session_id: '01a2285c-6d42-7861-9b25-12c66db96401',
    thread_id: '01a2285c-6d42-7861-9b25-12c66db96401',
    agent_name: '/root',
    turn_id: 'turn-2',
    root_turn_id: 'turn-1',
    request_kind: 'turn',
    ...more,
  });
const codex = {
  'user-agent': 'codex_exec/0.171.0 (Debian 12.0.0; x86_64) dumb (codex_exec; 0.171.0)',
  originator: 'codex_exec',
  'session-id': '01a2285c-6d42-7861-9b25-12c66db96401',
  'thread-id': '01a2285c-6d42-7861-9b25-12c66db96401',
};
const geminiTurns = (question: string, ...later: readonly string[]) => ({
  contents: [
    { role: 'user', parts: [{ text: '<session_context>\nThis is the Gemini CLI.' }, { text: question }] },
    ...later.map((text) => ({ role: 'user', parts: [{ text }] })),
  ],
});

test('headers of an administrator come before what a client says, and are not read without his word', () => {
  const clientHeaders = { 'x-tenant': 'acme', 'x-person': ' jo ', 'x-session-id': 's-1', 'x-empty': '' };
  const body = { user: 'by-the-client', metadata: { project: 'other' } };
  const of = (trusted: Parameters<typeof namesOf>[1]) => namesOf({ clientHeaders, body, operation: 'chat' }, trusted);
  expect(of(null)).toEqual({ session: 's-1', end_user: 'by-the-client', project: 'other' });
  const trusted = [
    ['x-tenant', 'project'],
    ['x-person', 'end_user'],
    ['x-empty', 'session'],
    ['x-absent', 'session'],
  ] as const;
  expect(of(trusted)).toEqual({ session: 's-1', end_user: 'jo', project: 'acme' });
});

test('Claude Code 2.1.332: agent, session, question, and which helper', () => {
  const headers = {
    'user-agent': 'claude-cli/2.1.332 (external, sdk-cli)',
    'x-app': 'cli',
    'x-claude-code-session-id': 'ce7b76f7-9156-4689-957e-606710e73f38',
    'x-claude-code-prompt-id': '693cb128-65ee-457d-b620-99b519a0180d',
  };
  const said = JSON.stringify({ device_id: 'aee6e6f3', account_uuid: '', session_id: 'from-the-body' });
  const names = {
    agent: 'claude-code',
    session: 'ce7b76f7-9156-4689-957e-606710e73f38',
    prompt: '693cb128-65ee-457d-b620-99b519a0180d',
  };
  // The device in `user_id` is no end user.
  expect(read(headers, { metadata: { user_id: said } })).toEqual(names);
  expect(read({ ...headers, 'x-claude-code-agent-id': 'a1', 'x-claude-code-agent-type': 'Explore' })).toEqual({
    ...names,
    subagent: 'Explore a1',
  });
  expect(read({ ...headers, 'x-claude-code-agent-id': 'a1' })).toEqual({ ...names, subagent: 'a1' });
  const { 'user-agent': userAgent } = headers;
  expect(read({ 'user-agent': userAgent }, { metadata: { user_id: said } })).toEqual({
    agent: 'claude-code',
    session: 'from-the-body',
  });
  expect(read({ 'user-agent': userAgent }, { metadata: { user_id: 'user_ab12_account__session_5f-6' } })).toEqual({
    agent: 'claude-code',
    session: '5f-6',
  });
});

test('Codex 0.171.0: agent, session, the question that began it all, project, and which helper', () => {
  const names = { agent: 'codex', session: codex['session-id'], prompt: 'turn-1' };
  expect(read({ ...codex, 'x-codex-turn-metadata': codexTurn() })).toEqual(names);
  expect(read({ ...codex, 'x-codex-turn-metadata': codexTurn({ root_turn_id: undefined }) })?.prompt).toBe('turn-2');
  const workspaces = { '/home/me/shop': { latest_git_commit_hash: 'abc' }, '/home/me/other': {} };
  expect(read({ ...codex, 'x-codex-turn-metadata': codexTurn({ workspaces }) })?.project).toBe('shop');
  const helper = { ...codex, 'thread-id': 'thread-9' };
  expect(read({ ...helper, 'x-codex-turn-metadata': codexTurn({ agent_name: '/root/explorer' }) })?.subagent).toBe(
    '/root/explorer thread-9',
  );
  expect(read({ ...helper, 'x-openai-subagent': 'review' })?.subagent).toBe('review thread-9');
  expect(read(helper)?.subagent).toBe('thread-9');
  expect(read(codex)).toEqual({ agent: 'codex', session: codex['session-id'] });
});

test.each(['', '{', '[]', 'null', '7', `{"session_id":"${'x'.repeat(9000)}"}`])(
  'turn metadata that is none is left alone: %.12s',
  (text) => {
    expect(read({ ...codex, 'x-codex-turn-metadata': text })).toEqual({ agent: 'codex', session: codex['session-id'] });
  },
);

test('opencode 1.18.33: agent and session', () => {
  expect(
    read({
      'user-agent': 'opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14',
      'x-session-affinity': 'ses_dd7a',
      'x-session-id': 'ses_dd7a',
    }),
  ).toEqual({ agent: 'opencode', session: 'ses_dd7a' });
});

test('Gemini CLI 0.61.0 and Qwen Code 0.24.4 name no session: their first question stands for it', () => {
  const gemini = { 'user-agent': 'GeminiCLI-tui/0.61.0/gemini-3.6-flash (linux; x64; terminal)' };
  const first = read(gemini, geminiTurns('say hi'));
  expect(first).toEqual({ agent: 'gemini-cli', session: expect.stringMatching(/^~[0-9a-z]+$/) });
  expect(read(gemini, geminiTurns('say hi', 'and now bye'))).toEqual(first);
  expect(read(gemini, geminiTurns('say ho'))?.session).not.toBe(first?.session);
  const qwen = { 'user-agent': 'QwenCode/0.24.4 (linux; x64)' };
  const messages = (question: unknown) => ({
    messages: [
      { role: 'system', content: 'You are Qwen Code' },
      { role: 'user', content: question },
    ],
  });
  expect(read(qwen, messages('say hi'))?.session).toBe(
    read(qwen, messages([{ type: 'text', text: 'say hi' }]))?.session,
  );
  expect(read(qwen, messages('say hi'))?.session).not.toBe(read(qwen, messages('say ho'))?.session);
  expect(read(qwen, { messages: [] })).toEqual({ agent: 'qwen-code' });
  expect(read(qwen, messages(''))).toEqual({ agent: 'qwen-code' });
  // Nobody is taken for a conversation who names himself, or asks for something else.
  expect(read({ ...qwen, 'x-session-id': 's' }, messages('say hi'))?.session).toBe('s');
  expect(read(qwen, messages('say hi'), 'embeddings')).toEqual({ agent: 'qwen-code' });
  expect(read({ 'user-agent': 'curl/8' }, messages('say hi'))).toBeNull();
});

test('Open WebUI and LibreChat: the chat, and the person who asks', () => {
  expect(
    read({
      'x-openwebui-user-name': 'Jo%20Doe',
      'x-openwebui-user-id': 'u-1',
      'x-openwebui-user-email': 'jo@example.com',
      'x-openwebui-chat-id': 'chat-1',
    }),
  ).toEqual({ agent: 'open-webui', session: 'chat-1', end_user: 'jo@example.com' });
  expect(read({ 'x-openwebui-user-id': 'u-1' })).toEqual({ agent: 'open-webui', end_user: 'u-1' });
  expect(read({ 'x-librechat-user-id': 'u-2', 'x-librechat-conversation-id': 'c-2' })).toEqual({
    agent: 'librechat',
    session: 'c-2',
    end_user: 'u-2',
  });
  expect(read({ 'x-librechat-user-id': 'u-2' }, { user: 'u-3' })?.end_user).toBe('u-2');
});

test('user, session and project are read from each API’s own members: user, safety identifier, cache key, metadata, project', () => {
  expect(read({}, { user: 'jo' })).toEqual({ end_user: 'jo' });
  expect(read({}, { safety_identifier: 'hash' })).toEqual({ end_user: 'hash' });
  expect(read({}, { prompt_cache_key: 'k' })).toEqual({ session: 'k' });
  expect(read({ 'openai-project': 'proj_1' })).toEqual({ project: 'proj_1' });
  expect(read({}, { metadata: { session_id: 's', project: 'p', user_id: 'jo' }, user: 'other' })).toEqual({
    session: 's',
    project: 'p',
    end_user: 'jo',
  });
  expect(read({}, { metadata: { conversation_id: 'c', project_id: 'p', end_user: 'e' } })).toEqual({
    session: 'c',
    project: 'p',
    end_user: 'e',
  });
});

test('a request that names nobody leaves no name', () => {
  expect(read({ 'user-agent': 'OpenAI/Python 2.1' }, { metadata: {}, user: '' })).toBeNull();
  expect(read({}, { metadata: 'a', user: 7, safety_identifier: null, prompt_cache_key: {} })).toBeNull();
  expect(read({}, { user: ' \u0000\n ' })).toBeNull();
});

test('a name has no control characters and 200 units at most, and no half characters', () => {
  expect(read({}, { user: 'a\u0000b\nc\u2028d' })).toEqual({ end_user: 'a b c d' });
  expect(read({}, { user: 'x'.repeat(10_000) })?.end_user).toHaveLength(200);
  expect(read({}, { user: `${'x'.repeat(199)}😀` })?.end_user).toBe(`${'x'.repeat(199)}\ufffd`);
});
