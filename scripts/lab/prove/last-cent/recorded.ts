/**
 * Sessions of a coding agent, made by a seed from those that `lab/agents/record` has recorded: members, tools and system as the
 * program sent them, then its own turns over and over, with other ids and with results of tools that differ in words and length.
 */
import { readFileSync } from 'node:fs';
import { type AgentSession, prose, type Random, type SessionShape } from './sessions.ts';

type Json = Readonly<Record<string, unknown>>;

/** A conversation of one program, each turn of which goes on where the one before ended. */
export interface Recorded {
  readonly program: string;
  readonly path: string;
  readonly body: Json;
  /** Member that holds the turns. */
  readonly member: 'messages' | 'input';
  readonly first: readonly Json[];
  /** What each further turn adds. */
  readonly added: readonly (readonly Json[])[];
  /** Where the last turn asks for a cache: message and block, each counted from the end. */
  readonly marks: readonly (readonly [message: number, block: number])[];
}

const mark = 'cache_control';
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const itemsOf = (value: unknown): readonly Json[] => listOf(value) as readonly Json[];

/** Of the turns alone: the marks in tools and system stay where they are. */
function unmarked(item: Json): Json {
  if (!Array.isArray(item.content)) return item;
  const content = itemsOf(item.content).map(({ [mark]: _mark, ...block }) => block);
  return { ...item, content };
}

const marksIn = (items: readonly Json[]): Recorded['marks'] =>
  items.flatMap(({ content }, message) =>
    itemsOf(content).flatMap((block, at) =>
      block[mark] === undefined ? [] : [[items.length - message, itemsOf(content).length - at] as const],
    ),
  );

interface Line {
  readonly session: number;
  readonly program: string;
  readonly path: string;
  readonly body: Json;
}

interface Open {
  readonly session: number;
  readonly program: string;
  readonly path: string;
  readonly member: Recorded['member'];
  readonly frame: string;
  readonly turns: (readonly Json[])[];
  body: Json;
}

const leastTurns = 4;

/** @returns conversations of so many turns at least, and how many requests the file has in all. */
export function recordedIn(file: string): { readonly sessions: readonly Recorded[]; readonly requests: number } {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const open: Open[] = [];
  for (const line of lines) {
    const { session, program, path, body } = JSON.parse(line) as Line;
    const member = 'input' in body ? 'input' : 'messages';
    // What names the turn changes with it, and is no part of the prompt.
    const { [member]: _turns, metadata: _metadata, client_metadata: _client, ...others } = body;
    const frame = JSON.stringify(others);
    const items = itemsOf(body[member]).map(unmarked);
    const known = open.findLast((one) => {
      const last = one.turns.at(-1) ?? [];
      const isSame = one.session === session && one.frame === frame && last.length < items.length;
      return isSame && last.every((item, at) => JSON.stringify(item) === JSON.stringify(items[at]));
    });
    if (known === undefined) open.push({ session, program, path, member, frame, turns: [items], body });
    else {
      known.turns.push(items);
      known.body = body;
    }
  }
  const sessions = open
    .filter(({ turns }) => turns.length >= leastTurns)
    .map(({ program, path, member, turns, body }): Recorded => {
      const { [member]: last, ...others } = body;
      return {
        ...{ program, path, member, body: others, first: turns[0] ?? [] },
        added: turns.slice(1).map((items, at) => items.slice(turns[at]?.length ?? 0)),
        marks: marksIn(itemsOf(last)),
      };
    });
  return { sessions, requests: lines.length };
}

const ids: ReadonlySet<string> = new Set(['id', 'call_id', 'tool_use_id', 'tool_call_id']);

/** The same with other ids. */
function renamed(value: unknown, suffix: string, name = ''): unknown {
  if (typeof value === 'string') return ids.has(name) ? `${value}_${suffix}` : value;
  if (Array.isArray(value)) return value.map((element) => renamed(element, suffix));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([member, one]) => [member, renamed(one, suffix, member)]));
}

/** What a tool answered, in any dialect, becomes other words. */
function withResult(item: Json, text: () => string): Json {
  if (item.type === 'function_call_output') return { ...item, output: text() };
  if (item.role === 'tool') return { ...item, content: text() };
  if (!Array.isArray(item.content)) return item;
  const content = itemsOf(item.content).map((block) =>
    block.type === 'tool_result' ? { ...block, content: text() } : block,
  );
  return { ...item, content };
}

/** What a user says first, with more words. */
function withWords(item: Json, text: string): Json {
  const { content } = item;
  if (typeof content === 'string') return { ...item, content: `${content}\n${text}` };
  const type = itemsOf(content)[0]?.type ?? 'text';
  return { ...item, content: [...itemsOf(content), { type, text }] };
}

export class RecordedSession implements AgentSession {
  readonly path: string;
  readonly program: string;
  private readonly model: string;
  private readonly items: Json[];
  private turns = 0;

  constructor(
    private readonly random: Random,
    private readonly recorded: Recorded,
    { model, name, letters }: SessionShape,
  ) {
    const { path, first, body } = recorded;
    this.path = path;
    this.program = recorded.program;
    this.model = model;
    const own = JSON.stringify(body).length + JSON.stringify(first).length;
    const asked = first.findLastIndex(({ role }) => role === 'user');
    const words = `${name}: ${prose(random, Math.max(200, letters - own))}`;
    this.items = first.map((item, at) => (at === asked ? withWords(item, words) : item));
  }

  /** A search of the provider's is among its tools. */
  get searches(): boolean {
    return itemsOf(this.recorded.body.tools).some(({ type }) => type === 'web_search');
  }

  /** Tokens of an answer that thinks as long as its program says; null = it says nothing of that. */
  get namedAnswer(): number | null {
    const { thinking, max_tokens: most } = this.recorded.body;
    return (thinking as Json | undefined)?.type === 'enabled' ? Number(most) : null;
  }

  body(tail: string | null = null): Json {
    const { recorded, items, model } = this;
    const { member, body, marks } = recorded;
    const all = tail === null ? items : [...items, this.asked(tail)];
    return {
      ...body,
      model,
      [member]: marks.length === 0 ? all : all.map((item, at) => this.marked(item, all.length - at)),
    };
  }

  goOn(): void {
    const { recorded, random } = this;
    const added = recorded.added[this.turns % recorded.added.length] ?? [];
    const suffix = String(++this.turns);
    const text = () => prose(random, 200 + Math.floor(random() * 2400));
    for (const item of added) this.items.push(withResult(renamed(item, suffix) as Json, text));
  }

  private asked(text: string): Json {
    if (this.path.endsWith('/responses'))
      return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
    return { role: 'user', content: [{ type: 'text', text }] };
  }

  /** @param fromEnd the message, counted from the end. */
  private marked(item: Json, fromEnd: number): Json {
    const places = this.recorded.marks.flatMap(([message, block]) => (message === fromEnd ? [block] : []));
    if (places.length === 0 || typeof item.content === 'string') return item;
    const content = itemsOf(item.content);
    return {
      ...item,
      content: content.map((block, at) =>
        places.includes(content.length - at) ? { ...block, [mark]: { type: 'ephemeral' } } : block,
      ),
    };
  }
}
