/** Brings a conversation into an order that every provider takes: a call is answered before anybody else speaks, nothing else is answered, and a turn says something. What is moved or made is declared. */
import type { Message, Part } from '../canonical.ts';
import type { Dropped } from '../codec.ts';

type Call = Extract<Part, { readonly type: 'tool-call' }>;
type Result = Extract<Part, { readonly type: 'tool-result' }>;

/** A call of the history and the result that belongs to it. */
interface Pair {
  readonly call: Call;
  /** Unlike the client's, no other call of the conversation has it. */
  readonly id: string;
  result: Result | null;
}

/** Calls of one turn that have one id; a result belongs to the first that has none. */
interface SameId {
  readonly turn: number;
  readonly pairs: Pair[];
  next: number;
}

/**
 * Providers pair results with calls by id, by name or by place, and refuse what does not pair: OpenAI and Anthropic by id,
 * Gemini by the number and order of both. Sources: MiniMax-AI/MiniMax-M2#76, Wei-Shaw/sub2api#2259, microsoft/vscode#299295,
 * router-for-me/CLIProxyAPI#5199.
 * @returns the same list where it is in order.
 */
export function inOrder(messages: readonly Message[], dropped: Dropped): readonly Message[] {
  const speaking = withoutEmptyTurns(messages, dropped);
  return speaking.some(({ parts }) => parts.some(isTied)) ? new Pairing(speaking, dropped).ordered() : speaking;
}

const isTied = ({ type }: Part): boolean => type === 'tool-call' || type === 'tool-result';
const isResult = (part: Part): part is Result => part.type === 'tool-result';

const isBlank = (part: Part): boolean => part.type === 'text' && part.text.trim() === '';
const isEmpty = ({ role, parts }: Message): boolean => role === 'assistant' && parts.every(isBlank);

/** Moonshot and Mistral refuse a model's turn without content. Sources: AstrBotDevs/AstrBot#7200, OpenHands/OpenHands#8685 */
function withoutEmptyTurns(messages: readonly Message[], dropped: Dropped): readonly Message[] {
  if (!messages.some(isEmpty)) return messages;
  for (const [at, message] of messages.entries())
    if (isEmpty(message)) dropped.push(`/messages/${at}: says nothing and is left out`);
  const speaking = messages.filter((message) => !isEmpty(message));
  if (speaking.length > 0) return speaking;
  dropped.push('/messages: nobody says anything, a word of the user’s stands for it');
  return [{ role: 'user', parts: [{ type: 'text', text: opening.text }] }];
}

class Pairing {
  private readonly pairs = new Map<Call, Pair>();
  private readonly ofResult = new Map<Result, Pair>();

  constructor(
    private readonly messages: readonly Message[],
    private readonly dropped: Dropped,
  ) {
    this.pair();
  }

  private pair(): void {
    const open = new Map<string, SameId>();
    const taken = new Set<string>();
    const repeats = new Map<string, number>();
    let turn = 0;
    let before: Message['role'] | null = null;
    for (const { role, parts } of this.messages) {
      if (role === 'assistant' && before !== 'assistant') turn++;
      before = role;
      for (const part of parts) {
        if (part.type === 'tool-result') {
          const same = open.get(part.id);
          const pair = same?.pairs[same.next];
          if (same === undefined || pair === undefined) continue;
          same.next++;
          pair.result = part;
          this.ofResult.set(part, pair);
        } else if (part.type === 'tool-call') {
          let { id } = part;
          while (taken.has(id)) {
            const repeat = (repeats.get(part.id) ?? 1) + 1;
            repeats.set(part.id, repeat);
            id = `${part.id}_${repeat}`;
          }
          taken.add(id);
          const pair: Pair = { call: part, id, result: null };
          this.pairs.set(part, pair);
          const same = open.get(part.id);
          if (same?.turn === turn) same.pairs.push(pair);
          else open.set(part.id, { turn, pairs: [pair], next: 0 });
        }
      }
    }
  }

  ordered(): readonly Message[] {
    const { messages } = this;
    const ordered: Message[] = [];
    for (let at = 0; at < messages.length; ) {
      let end = at;
      while (messages[end]?.role === 'assistant') end++;
      const turn = messages.slice(at, end);
      let next = end;
      while (next < messages.length && messages[next]?.role !== 'assistant') next++;
      this.takeTurn(turn, at, ordered);
      this.takeReplies(this.pairsOf(turn), end, next, ordered);
      at = next;
    }
    const isSame = ordered.length === messages.length && ordered.every((message, at) => message === messages[at]);
    return isSame ? messages : ordered;
  }

  private pairsOf(turn: readonly Message[]): readonly Pair[] {
    return turn.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === 'tool-call' ? (this.pairs.get(part) ?? []) : [])),
    );
  }

  /** Messages that one side says in a row are one turn, whose results come behind the last of them. */
  private takeTurn(turn: readonly Message[], at: number, ordered: Message[]): void {
    const named = turn.map((message, offset) => this.withOwnIds(message, at + offset));
    const [first, ...more] = named;
    if (first === undefined) return;
    if (more.length === 0 || !named.some(({ parts }) => parts.some(isTied))) ordered.push(...named);
    else {
      for (const [offset, { name }] of more.entries())
        if (name !== undefined && name !== first.name)
          this.dropped.push(`/messages/${at + offset + 1}/name: it is one turn with what was said before`);
      ordered.push({ ...first, parts: named.flatMap(({ parts }) => parts) });
    }
  }

  private withOwnIds(message: Message, at: number): Message {
    const isOwn = (part: Part): boolean => part.type !== 'tool-call' || this.pairs.get(part)?.id === part.id;
    if (message.parts.every(isOwn)) return message;
    this.dropped.push(`/messages/${at}: a call has the id of another one, and is sent under an id of its own`);
    return {
      ...message,
      parts: message.parts.map((part) =>
        part.type === 'tool-call' ? { ...part, id: this.pairs.get(part)?.id ?? part.id } : part,
      ),
    };
  }

  /** @param from place of the first message behind the turn with these calls. @param to place behind the last. */
  private takeReplies(pairs: readonly Pair[], from: number, to: number, ordered: Message[]): void {
    const replies = this.messages.slice(from, to);
    if (isAnswered(pairs, replies)) {
      ordered.push(...replies);
      return;
    }
    const { dropped } = this;
    let isMoved = false;
    const before = replies.flatMap(({ parts }) => parts);
    for (const [place, { call, id, result }] of pairs.entries()) {
      if (result === null)
        dropped.push(`/messages/${from - 1}: ${call.name} was called and has no result, a note stands in for it`);
      else isMoved ||= before[place] !== result;
      ordered.push({ role: 'tool', parts: [result === null ? noResult(id, call.name) : { ...result, id }] });
    }
    if (isMoved) dropped.push(`/messages/${from}: results are sent right behind their calls, in the order of these`);
    for (const [offset, message] of replies.entries()) this.takeReply(message, from + offset, ordered);
  }

  /** What a message says besides the results that went to their calls. */
  private takeReply(message: Message, at: number, ordered: Message[]): void {
    if (!message.parts.some(isResult)) {
      ordered.push(message);
      return;
    }
    const parts = message.parts.flatMap((part): readonly Part[] => {
      if (!isResult(part)) return [part];
      if (this.ofResult.has(part)) return [];
      this.dropped.push(`/messages/${at}: a result whose call is not in the conversation is sent as text`);
      return inText(part);
    });
    if (parts.length > 0) ordered.push({ ...message, role: message.role === 'tool' ? 'user' : message.role, parts });
  }
}

/** Whether the replies begin with the results of these calls, in their order, and have no other. */
function isAnswered(pairs: readonly Pair[], replies: readonly Message[]): boolean {
  let place = 0;
  let isOver = false;
  for (const { parts } of replies)
    for (const part of parts) {
      if (!isResult(part)) isOver = true;
      else {
        const pair = pairs[place++];
        if (isOver || pair === undefined || pair.result !== part || pair.id !== part.id) return false;
      }
    }
  return place === pairs.length;
}

const noResult = (id: string, name: string): Result => ({
  type: 'tool-result',
  id,
  name,
  content: [{ type: 'text', text: 'No result was given' }],
  isError: true,
});

const inText = ({ name, content, isError }: Result): readonly Part[] => [
  { type: 'text', text: `${isError ? 'Error' : 'Result'} of ${name ?? 'a tool'} that was called earlier:` },
  ...content,
];

/**
 * Where the instructions have a place of their own and nobody asks anything, the last of them are the question.
 * @returns the same list where somebody speaks.
 */
export function withQuestion(messages: readonly Message[], dropped: Dropped): readonly Message[] {
  const last = messages.at(-1);
  if (last === undefined || messages.some(({ role }) => role !== 'system' && role !== 'developer')) return messages;
  dropped.push(`/messages/${messages.length - 1}: nobody asks anything, these instructions are sent as the question`);
  return [...messages.slice(0, -1), { ...last, role: 'user' }];
}

/** The user's word before a model's that would be the first. Sources: https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-call.html, langchain-ai/langchain#27799 */
export const opening = {
  text: 'Begin.',
  reason: '/messages: the model cannot speak first, a word of the user’s stands before it',
};
