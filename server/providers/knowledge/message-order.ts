/** Where instructions may stand in a conversation: at some hosts anywhere, at the others in one message that comes first. */
import type { ProtocolId } from '../../protocols/canonical.ts';
import { codecFor } from '../../protocols/registry.ts';
import { opening } from '../../protocols/shared/conversation-order.ts';
import { record, text } from '../../protocols/shared/json.ts';
import type { Demand, ProviderRow, WithSource } from './row.ts';

/** Where a host takes instructions; `default` = nobody knows, and the rows decide. */
export type SystemOrder = 'first' | 'anywhere' | 'default';

const alternating: Demand = { kind: 'alternating' };
/** Templates raise "No user query found in messages". Source: https://huggingface.co/Qwen/Qwen3.5-27B/blob/main/chat_template.jinja */
const asked: Demand = { kind: 'asked', by: { role: 'user', content: opening.text } };
const chat = 'openai-chat';
const responses = 'openai-responses';
const messages = 'anthropic-messages';

/** What a dialect's row demands of its turns. @returns null where it has no place for instructions among them. */
function firstAlone(dialect: ProtocolId): Pick<ProviderRow, 'member' | 'demand'> | null {
  const places = codecFor(dialect).definition.instructions;
  if (places === undefined) return null;
  const { turns, apart } = places;
  return { member: turns, demand: { kind: 'systemFirst', ...(apart === undefined ? {} : { apart }) } };
}

interface StrictHost extends WithSource {
  readonly provider: string;
  readonly dialects: readonly ProtocolId[];
  readonly models?: RegExp;
}

/** Claude takes instructions in the middle from Opus 4.8 on. Source: https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages */
const beforeMiddle = /^claude-(?!opus-(?:4-[89]|[5-9])|(?:sonnet|haiku)-[5-9]|fable|mythos)/;

const strictHosts: readonly StrictHost[] = [
  // Templates that answer 400 "System message must be at the beginning." or the like.
  { provider: 'vllm', dialects: [chat, responses], source: 'https://github.com/BerriAI/litellm/pull/39852' },
  {
    provider: 'lm-studio',
    dialects: [chat, responses],
    source: 'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2298',
  },
  { provider: 'ollama', dialects: [chat, 'ollama-chat'], source: 'https://github.com/ollama/ollama/issues/17774' },
  { provider: 'minimax', dialects: [chat], source: 'https://github.com/moltis-org/moltis/pull/510' },
  { provider: 'fireworks', dialects: [chat], source: 'https://github.com/BerriAI/litellm/pull/39852' },
  { provider: 'nvidia', dialects: [chat], source: 'https://github.com/BerriAI/litellm/pull/37351' },
  { provider: 'ali', dialects: [chat], source: 'https://github.com/can1357/oh-my-pi/issues/958' },
  // The dialect of Anthropic at other makers: "unknown variant `system`, expected `user` or `assistant`" and the like.
  {
    provider: 'deepseek',
    dialects: [messages],
    source: 'https://github.com/deepseek-ai/awesome-deepseek-integration/issues/639',
  },
  { provider: 'minimax', dialects: [messages], source: 'https://github.com/MiniMax-AI/MiniMax-M2.7/issues/43' },
  { provider: 'ali', dialects: [messages], source: 'https://github.com/QwenLM/Qwen/issues/2244' },
  ...['moonshot', 'zhipu-v4'].map((provider) => ({
    provider,
    dialects: [messages] as const,
    source: 'https://github.com/QwenLM/Qwen/issues/2244',
    assumed: true as const,
  })),
  // "role 'system' is not supported on this model", in every position.
  ...['anthropic', 'aws', 'vertex'].map((provider) => ({
    provider,
    dialects: [messages] as const,
    models: beforeMiddle,
    source: 'https://github.com/BerriAI/litellm/pull/32831',
  })),
];

/** Models whose templates raise "Conversation roles must alternate user/assistant". */
const takesTurns = { models: /gemma/, source: 'https://github.com/suitenumerique/conversations/issues/197' };

export const messageOrderRows: readonly ProviderRow[] = strictHosts.flatMap(({ dialects, ...host }) =>
  dialects.flatMap((dialect): ProviderRow[] => {
    const demanded = firstAlone(dialect);
    if (demanded === null) return [];
    const first: ProviderRow = { ...host, dialect, ...demanded };
    if (dialect !== chat) return [first];
    return [first, { ...first, demand: asked, translatedOnly: true }, { ...first, ...takesTurns, demand: alternating }];
  }),
);

/** For hosts of which no row says anything: a request that is translated takes no risk, one that passes is its client's own. */
export function safeOrder(provider: string, dialect: ProtocolId): readonly ProviderRow[] {
  const demanded = firstAlone(dialect);
  if (demanded === null || codecFor(dialect).definition.instructions?.isRisky !== true) return [];
  const row = { provider, dialect, ...demanded, source: 'https://github.com/BerriAI/litellm/pull/39852' };
  return [row, ...(dialect === chat ? [{ ...row, demand: asked }] : []), { ...row, demand: alternating }];
}

/** What a channel's operator says of the host. */
export function ownOrder(provider: string, dialect: ProtocolId): readonly ProviderRow[] {
  const demanded = firstAlone(dialect);
  return demanded === null ? [] : [{ provider, dialect, ...demanded, source: 'setting.system_messages' }];
}

/** Hosts that take several system messages in OpenAI's dialects, wherever they stand. @property address only there. */
const freeHosts: readonly (WithSource & { readonly provider: string; readonly address: RegExp })[] = [
  {
    provider: 'openai',
    address: /^https:\/\/(?:[a-z]+\.)?api\.openai\.com(?=[/:]|$)/,
    source: 'https://platform.openai.com/docs/api-reference/chat/create',
  },
  { provider: 'azure', address: /^/, source: 'https://platform.openai.com/docs/api-reference/chat/create' },
  {
    provider: 'deepseek',
    address: /^https:\/\/api\.deepseek\.com(?=[/:]|$)/,
    source: 'https://api-docs.deepseek.com/api/create-chat-completion',
  },
  {
    provider: 'xai',
    address: /^https:\/\/(?:[a-z0-9-]+\.)?api\.x\.ai(?=[/:]|$)/,
    source: 'https://docs.x.ai/docs/guides/chat',
  },
];

/** @param baseUrl of the channel. @param setting what its operator says; unknown words say nothing. */
export function systemOrderAt(provider: string, dialect: ProtocolId, baseUrl: string, setting: unknown): SystemOrder {
  if (setting === 'first' || setting === 'anywhere') return setting;
  const isOpenAi = dialect === chat || dialect === responses;
  const isFree = isOpenAi && freeHosts.some((host) => host.provider === provider && host.address.test(baseUrl));
  return isFree ? 'anywhere' : 'default';
}

type Members = Readonly<Record<string, unknown>>;

export const isInstruction = (item: unknown): boolean => {
  const role = record(item)?.role;
  return role === 'system' || role === 'developer';
};

type Apart = Extract<Demand, { readonly kind: 'systemFirst' }>['apart'];

/** Whether the turns are as such a host wants them. @param object holds what the dialect has `apart`. */
export function isSystemFirst(turns: readonly unknown[], apart: Apart, object: Members): boolean {
  let from = 0;
  if (apart !== 'system' && isInstruction(turns[0])) {
    const isRightlyLed = turns.length > 1 && record(turns[0])?.role === 'system';
    if (!isRightlyLed || (apart === 'instructions' && typeof object.instructions === 'string')) return false;
    from = 1;
  }
  for (let at = from; at < turns.length; at++) if (isInstruction(turns[at])) return false;
  return true;
}

/**
 * The leading instructions become one message, later ones a reminder in the user's turn, behind the results of calls. Where
 * nobody asks anything the last ones are the question: templates raise "No user query found in messages".
 * @param object holds the turns, and what the dialect has `apart` beside them.
 */
export function withSystemFirst(object: Members, key: string, apart: Apart, reasons: string[]): Members {
  const turns = object[key];
  if (!Array.isArray(turns)) return object;
  const instructions = apart === 'instructions' ? text(object.instructions) : null;
  const leadsApart = instructions !== null && isInstruction(turns[0]);
  if (isSystemFirst(turns, apart, object)) return object;
  const word = apart === 'instructions' ? 'input_text' : 'text';
  const firstTurn = turns.findIndex((item) => !isInstruction(item));
  const hasNoTurn = firstTurn < 0;
  const leads = apart === 'system' ? 0 : hasNoTurn ? turns.length - 1 : firstTurn;
  const leading = turns.slice(0, leads).map((item) => record(item) ?? {});
  const rest = turns.slice(leads);
  const joined = withReminders(rest, word, hasNoTurn);
  const ordered = joined.all();
  const moved: string[] = [];
  if (leading.length > 1 || leadsApart) moved.push('the leading system messages are one');
  if (hasNoTurn) moved.push('nobody asks anything, so that the last of them is the question');
  else if (rest.some(isInstruction)) moved.push('later ones are reminders in the user’s turn');
  const lost = new Set<string>();
  for (const item of leading.slice(leadsApart ? 0 : 1))
    noteLosses(item, leadsApart ? null : (leading[0] ?? null), lost);
  const losses = `${lossesOf(lost)}${joined.losses}`;
  if (moved.length > 0) reasons.push(`the upstream takes one system message, first: ${moved.join('; ')}${losses}`);
  if (leadsApart) {
    const words = leading.map(({ content }) => wordsOf(content));
    return { ...object, instructions: [instructions, ...words].join('\n\n'), [key]: ordered };
  }
  const [first] = leading;
  if (first === undefined) return { ...object, [key]: ordered };
  const contents = leading.map(({ content }) => content);
  const content = contents.length === 1 ? first.content : joinedContent(contents, word);
  return { ...object, [key]: [{ ...first, role: 'system', content }, ...ordered] };
}

/** Whether a turn brings the results of calls: nothing comes between these and their calls. */
const hasResults = ({ role, type, content }: Members): boolean =>
  role === 'tool' ||
  type === 'function_call_output' ||
  type === 'custom_tool_call_output' ||
  (Array.isArray(content) && content.some((part) => record(part)?.type === 'tool_result'));

const calls: ReadonlySet<unknown> = new Set(['function_call', 'custom_tool_call']);

/** Whether a turn may stand among the calls of one answer, where each is a turn of its own: their results come behind all of them. */
const goesOnCalling = ({ type }: Members): boolean => calls.has(type) || type === 'reasoning';

function withReminders(turns: readonly unknown[], word: string, isQuestion: boolean): JoinedTurns {
  const ordered = new JoinedTurns(word);
  const held: Members[] = [];
  let mayJoin = false;
  let isCalling = false;
  const push = (item: Members, isReminder: boolean) => {
    const joins = ordered.last?.role === 'user' && item.role === 'user' && (mayJoin || isReminder);
    if (joins) ordered.join(item);
    else ordered.add(item);
    mayJoin = isReminder;
  };
  const release = () => {
    for (const item of held.splice(0)) push(item, true);
  };
  for (const turn of turns) {
    const item = record(turn) ?? {};
    if (isInstruction(turn))
      held.push({ ...item, role: 'user', content: isQuestion ? item.content : reminder(item.content) });
    else {
      if (!hasResults(item) && !(isCalling && goesOnCalling(item))) release();
      isCalling = calls.has(item.type) || (isCalling && goesOnCalling(item));
      push(item, false);
    }
  }
  release();
  return ordered;
}

/** Turns of which each may say what several said. */
export class JoinedTurns {
  private readonly turns: { readonly item: unknown; readonly contents: unknown[]; images: readonly unknown[] }[] = [];
  private readonly lost = new Set<string>();

  /** @param word how the dialect calls a part that is text. */
  constructor(private readonly word: string) {}

  /** Without what joined it. */
  get last(): Members | null {
    return record(this.turns.at(-1)?.item);
  }

  add(item: unknown): void {
    const members = record(item);
    this.turns.push({ item, contents: [members?.content], images: imagesOf(members) });
  }

  /** To the last turn: of the item its content is kept, and pictures that stand beside it. */
  join(item: Members): void {
    const turn = this.turns.at(-1);
    if (turn === undefined) return;
    const { images, ...rest } = item;
    turn.contents.push(item.content);
    turn.images = [...turn.images, ...imagesOf(item)];
    noteLosses(Array.isArray(images) ? rest : item, record(turn.item), this.lost);
  }

  /** What the log says of members that went with joining; '' = none did. */
  get losses(): string {
    return lossesOf(this.lost);
  }

  all(): readonly unknown[] {
    return this.turns.map(({ item, contents, images }) =>
      contents.length === 1
        ? item
        : {
            ...record(item),
            content: joinedContent(contents, this.word),
            ...(images.length === 0 ? {} : { images }),
          },
    );
  }
}

/** Ollama's messages have their pictures beside the words. */
const imagesOf = (item: Members | null): readonly unknown[] => (Array.isArray(item?.images) ? item.images : []);

/** Members of a message that say something. The client may write others, of any number and length: these have one name. */
const knownMembers: ReadonlySet<string> = new Set([
  ...['name', 'reasoning_content', 'reasoning', 'reasoning_details', 'thinking', 'refusal', 'audio', 'annotations'],
  ...['prefix', 'partial', 'cache_control', 'function_call', 'phase'],
]);

/** @param by the message that it joins: what both say alike is not lost. @param lost receives the names. */
function noteLosses(item: Members, by: Members | null, lost: Set<string>): void {
  for (const [name, value] of Object.entries(item)) {
    if (
      name === 'role' ||
      name === 'content' ||
      name === 'type' ||
      name === 'id' ||
      name === 'status' ||
      value === null
    )
      continue;
    if (value !== by?.[name]) lost.add(knownMembers.has(name) ? name : 'other members');
  }
}

const lossesOf = (lost: ReadonlySet<string>): string =>
  lost.size === 0 ? '' : `; ${[...lost].sort().join(', ')} of the later ones are left out`;

const partsOf = (content: unknown, word: string): readonly unknown[] =>
  Array.isArray(content) ? content : [{ type: word, text: String(content ?? '') }];

/** Words stay words where all are. @param word how the dialect calls a part that is text. */
export const joinedContent = (contents: readonly unknown[], word: string): unknown =>
  contents.every((content) => typeof content === 'string')
    ? contents.join('\n\n')
    : contents.flatMap((content) => partsOf(content, word));

const wordsOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : partsOf(content, '')
        .map((part) => text(record(part)?.text) ?? '')
        .join('\n');

const marked = (words: string): string => `<system>\n${words}\n</system>`;

function reminder(content: unknown): unknown {
  if (!Array.isArray(content)) return marked(String(content ?? ''));
  return content.map((part) => {
    const words = text(record(part)?.text);
    return words === null ? part : { ...record(part), text: marked(words) };
  });
}
