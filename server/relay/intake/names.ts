/** Reads for whom a request is made, and by what, from headers and members that agents and chat surfaces send by themselves. */
import { cleanName, type NameHeaders, type NameKind, type Names } from '../../contract/names.ts';
import { record } from '../../protocols/shared/json.ts';
import type { ClientHeaders } from '../../routing/endpoint.ts';
import type { ParsedRequest } from './parsed-request.ts';

interface KnownAgent {
  readonly name: string;
  /** How its user agent begins. */
  readonly userAgent: string;
  /** It names no conversation: the first question stands for it. */
  readonly unnamed?: true;
  /** Seen in requests of this version. */
  readonly source: string;
}

/** Names are those of `gateway agents` where it has one. */
const knownAgents: readonly KnownAgent[] = [
  { name: 'claude-code', userAgent: 'claude-cli/', source: 'Claude Code 2.1.332' },
  { name: 'codex', userAgent: 'codex', source: 'Codex 0.171.0' },
  { name: 'gemini-cli', userAgent: 'GeminiCLI', unnamed: true, source: 'Gemini CLI 0.61.0' },
  { name: 'opencode', userAgent: 'opencode/', source: 'opencode 1.18.33' },
  { name: 'qwen-code', userAgent: 'QwenCode/', unnamed: true, source: 'Qwen Code 0.24.4' },
];

type Reading = readonly [header: string, kind: NameKind];

/** The first that is there counts. */
const plainHeaders: readonly Reading[] = [
  // https://code.claude.com/docs/en/llm-gateway-protocol
  ['x-claude-code-session-id', 'session'],
  ['x-claude-code-prompt-id', 'prompt'],
  // Headers in which a Claude gateway names the person who signed in to it.
  ['x-claude-gateway-user-email', 'end_user'],
  ['x-claude-gateway-user-id', 'end_user'],
  // https://github.com/openai/codex/blob/main/codex-rs/core/src/client.rs
  ['session-id', 'session'],
  ['session_id', 'session'],
  // opencode, and whoever follows it.
  ['x-session-id', 'session'],
  // https://github.com/open-webui/open-webui/blob/main/backend/open_webui/env.py
  ['x-openwebui-chat-id', 'session'],
  ['x-openwebui-user-email', 'end_user'],
  ['x-openwebui-user-id', 'end_user'],
  // Headers of https://www.librechat.ai/docs/configuration/librechat_yaml/object_structure/custom_endpoint, as our documentation names them.
  ['x-librechat-conversation-id', 'session'],
  ['x-librechat-user-email', 'end_user'],
  ['x-librechat-user-id', 'end_user'],
  ['x-conversation-id', 'session'],
  // https://platform.openai.com/docs/api-reference/authentication
  ['openai-project', 'project'],
];

/** Members of `metadata`, which clients fill as they like. The first that is there counts. */
const metadataMembers: readonly Reading[] = [
  ['session_id', 'session'],
  ['conversation_id', 'session'],
  ['thread_id', 'session'],
  ['project', 'project'],
  ['project_id', 'project'],
  ['end_user', 'end_user'],
  ['user_id', 'end_user'],
];

/** Longer ones are not read. */
const maxStructure = 8192;
/** Units of the first question that tell conversations apart. */
const questionUnits = 8192;

type Found = Partial<Record<NameKind, string>>;

function put(found: Found, kind: NameKind, value: unknown): void {
  if (found[kind] !== undefined) return;
  const name = cleanName(value);
  if (name !== null) found[kind] = name;
}

/** @param trusted headers that name something too, before all others; null = there are none. @returns null = it says nothing of that kind. */
export function namesOf(
  { clientHeaders: headers, body, operation }: Pick<ParsedRequest, 'clientHeaders' | 'body' | 'operation'>,
  trusted: NameHeaders | null = null,
): Names | null {
  const found: Found = {};
  if (trusted !== null) for (const [header, kind] of trusted) put(found, kind, headers[header]);
  const agent = agentIn(headers);
  if (agent !== null) found.agent = agent.name;
  for (let at = 0; at < plainHeaders.length; at++) {
    const reading = plainHeaders[at] as Reading;
    const value = headers[reading[0]];
    if (value !== undefined) put(found, reading[1], value);
  }
  readClaudeCode(found, headers);
  readCodex(found, headers);
  readMembers(found, body);
  if (found.session === undefined && agent?.unnamed === true && operation === 'chat')
    put(found, 'session', firstQuestion(body));
  for (const _kind in found) return found;
  return null;
}

function agentIn(headers: ClientHeaders): Pick<KnownAgent, 'name' | 'unnamed'> | null {
  const userAgent = headers['user-agent'] ?? '';
  for (let at = 0; at < knownAgents.length; at++) {
    const agent = knownAgents[at] as KnownAgent;
    if (userAgent.startsWith(agent.userAgent)) return agent;
  }
  if (has(headers, 'x-openwebui-user-id') || has(headers, 'x-openwebui-chat-id')) return openWebUi;
  return has(headers, 'x-librechat-user-id') || has(headers, 'x-librechat-conversation-id') ? libreChat : null;
}
const has = (headers: ClientHeaders, name: string): boolean => headers[name] !== undefined;
const openWebUi = { name: 'open-webui' } as const;
const libreChat = { name: 'librechat' } as const;

function readClaudeCode(found: Found, headers: ClientHeaders): void {
  const id = headers['x-claude-code-agent-id'];
  if (id === undefined) return;
  const type = headers['x-claude-code-agent-type'];
  put(found, 'subagent', type === undefined ? id : `${type} ${id}`);
}

/** A helper's thread is another one than its conversation. */
function readCodex(found: Found, headers: ClientHeaders): void {
  const turn = structureIn(headers['x-codex-turn-metadata']);
  const thread = headers['thread-id'] ?? turn?.thread_id;
  if (turn !== null) {
    put(found, 'session', turn.session_id);
    put(found, 'prompt', turn.root_turn_id ?? turn.turn_id);
    put(found, 'project', projectIn(turn.workspaces));
  }
  const helper = headers['x-openai-subagent'];
  if (typeof thread !== 'string' || (helper === undefined && (found.session ?? thread) === thread)) return;
  const name = helper ?? turn?.agent_name;
  put(found, 'subagent', typeof name === 'string' ? `${name} ${thread}` : thread);
}

/** The last part of the first folder's path. */
function projectIn(workspaces: unknown): string | undefined {
  const paths = record(workspaces);
  if (paths === null) return undefined;
  for (const path in paths) return path.split(/[\\/]+/).findLast((part) => part !== '');
  return undefined;
}

function readMembers(found: Found, body: ParsedRequest['body']): void {
  const metadata = record(body.metadata);
  if (metadata !== null) {
    const session = claudeSessionIn(metadata.user_id);
    if (session !== null) put(found, 'session', session);
    for (const [member, kind] of metadataMembers)
      if (member !== 'user_id' || session === null) put(found, kind, metadata[member]);
  }
  put(found, 'end_user', body.user);
  put(found, 'end_user', body.safety_identifier);
  put(found, 'session', body.prompt_cache_key);
}

/** Claude Code tells its conversation in `user_id`, beside a device that is nobody's name. @returns null = it is an ordinary name. */
function claudeSessionIn(told: unknown): unknown {
  if (typeof told !== 'string') return null;
  if (told.startsWith('{')) return structureIn(told)?.session_id ?? null;
  // As versions before 2.1 wrote it.
  const at = told.startsWith('user_') ? told.lastIndexOf('_session_') : -1;
  return at < 0 ? null : told.slice(at + '_session_'.length);
}

function structureIn(text: string | undefined): Readonly<Record<string, unknown>> | null {
  if (text === undefined || text.length > maxStructure) return null;
  try {
    return record(JSON.parse(text));
  } catch {
    // reason: a header of somebody who is not who he says.
    return null;
  }
}

/** The first turn of the user, in any dialect: it stands for a conversation without a name. */
function firstQuestion(body: ParsedRequest['body']): string | null {
  const turns = body.contents ?? body.messages ?? body.input;
  if (!Array.isArray(turns)) return null;
  for (const turn of turns) {
    const { role = 'user', content, parts } = record(turn) ?? {};
    if (role !== 'user') continue;
    const text = questionText(content ?? parts);
    return text === '' ? null : `~${Bun.hash(text).toString(36)}`;
  }
  return null;
}

function questionText(content: unknown): string {
  if (typeof content === 'string') return content.slice(0, questionUnits);
  if (!Array.isArray(content)) return '';
  let all = '';
  for (const part of content) {
    if (all.length >= questionUnits) break;
    const text = record(part)?.text;
    if (typeof text === 'string') all += text.slice(0, questionUnits);
  }
  return all;
}
