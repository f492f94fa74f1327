/** Headers by which agents name themselves and their conversations: upstreams keep prompts warm, count and answer by them. */
import type { WithSource } from './row.ts';

export interface AgentHeader extends WithSource {
  readonly name: string;
  /** It means something to its own dialect alone. */
  readonly own?: true;
}

const claudeCode = 'https://docs.claude.com/en/docs/claude-code/llm-gateway';
const codex = 'https://github.com/openai/codex/blob/main/codex-rs/core/src/client.rs';
const genai = 'https://github.com/googleapis/js-genai/blob/main/src/_api_client.ts';

export const agentHeaders: readonly AgentHeader[] = [
  { name: 'user-agent', source: 'https://www.rfc-editor.org/rfc/rfc9110#name-user-agent' },
  { name: 'x-claude-code-session-id', source: claudeCode },
  { name: 'x-app', source: claudeCode },
  { name: 'session-id', source: codex },
  { name: 'session_id', source: codex },
  { name: 'thread-id', source: codex },
  { name: 'conversation_id', source: codex },
  { name: 'originator', source: codex },
  { name: 'version', own: true, source: codex },
  { name: 'x-client-request-id', own: true, source: codex },
  { name: 'x-codex-window-id', own: true, source: codex },
  { name: 'x-codex-beta-features', own: true, source: codex },
  { name: 'x-codex-turn-metadata', own: true, source: codex },
  { name: 'x-openai-internal-codex-responses-lite', own: true, source: codex },
  { name: 'x-goog-api-client', own: true, source: genai },
];
