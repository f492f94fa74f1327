/** Cuts a prompt into what its provider's cache hashes one after another: all before the messages, then message by message. */
import type { CacheRules } from '../../protocols/definition.ts';
import { codecFor } from '../../protocols/registry.ts';
import { record } from '../../protocols/shared/json.ts';
import type { ParsedRequest } from '../intake/parsed-request.ts';
import type { Opening, PromptPart } from './prefix-evidence.ts';

type Members = Readonly<Record<string, unknown>>;

/** Kinds of blocks that hold words alone. Of others it is not known how long they are. */
const words: ReadonlySet<unknown> = new Set([
  ...[
    'text',
    'input_text',
    'output_text',
    'summary_text',
    'reasoning_text',
    'refusal',
    'thinking',
    'redacted_thinking',
  ],
  ...['tool_use', 'tool_result', 'function', 'function_call', 'function_call_output', 'message', 'reasoning'],
]);
/** A turn's frame, and a call's. */
const framingTokens = 16;

/** @param block how it was written, which `most` is found out from when somebody asks. */
class Part implements PromptPart {
  constructor(
    readonly text: string,
    private readonly block: unknown,
  ) {}

  get most(): number {
    return isWords(this.block) ? Buffer.byteLength(this.text) + framingTokens : Number.POSITIVE_INFINITY;
  }
}

function isWords(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isWords);
  const members = value as Members;
  if ('type' in members && !words.has(members.type)) return false;
  for (const name in members) if (!isWords(members[name])) return false;
  return true;
}

/**
 * @param served what the prompt's cache depends on besides the request: the model upstream, the channel as it is set up now.
 * @returns null = it is not known what is hashed: another dialect, or the request names what stands elsewhere.
 */
export function openingOf(
  { protocol, operation, body, request }: Pick<ParsedRequest, 'protocol' | 'operation' | 'body' | 'request'>,
  served: readonly string[],
): Opening | null {
  const { cache: rules, headerPrefix } = codecFor(protocol).definition;
  if (rules === undefined || operation !== 'chat') return null;
  for (const name of rules.elsewhere) if (body[name] !== undefined && body[name] !== null) return null;
  const turns = body[rules.turns];
  if (typeof turns !== 'string' && !Array.isArray(turns)) return null;
  const marks: number[] = [];
  const head = [...served];
  if (headerPrefix !== undefined)
    for (const [name, value] of request.headers) if (name.startsWith(headerPrefix)) head.push(name, value);
  for (const name in body) {
    if (name === rules.turns || name === rules.mark || rules.unhashed.includes(name)) continue;
    head.push(name, JSON.stringify(unmarked(body[name], rules, marks, 0)));
  }
  const parts: Part[] = [];
  for (const turn of typeof turns === 'string' ? [turns] : turns) addTurn(parts, turn, rules, marks);
  if (rules.mark === undefined) return { head, parts, marks: null };
  if (record(body[rules.mark]) !== null) marks.push(parts.length);
  return { head, parts, marks: [...new Set(marks)] };
}

function addTurn(parts: Part[], turn: unknown, rules: CacheRules, marks: number[]): void {
  const members = rules.blocks === undefined ? null : record(turn);
  if (rules.blocks === undefined || members === null) {
    parts.push(new Part(JSON.stringify(turn), turn));
    return;
  }
  const { [rules.blocks]: content, ...frame } = members;
  // A text alone is short for one block of text: clients change between the two where they set marks.
  const blocks =
    typeof content === 'string' ? [{ type: 'text', text: content }] : Array.isArray(content) ? content : [content];
  let before = JSON.stringify(frame);
  for (const block of blocks) {
    const hashed = unmarked(block, rules, marks, parts.length + 1);
    parts.push(new Part(before + JSON.stringify(hashed), hashed));
    before = '';
  }
}

/** Without its own mark, or those of its elements: no provider hashes them. @param at where they ask for a cache. */
function unmarked(value: unknown, rules: CacheRules, marks: number[], at: number): unknown {
  const { mark } = rules;
  if (mark === undefined || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((element) => unmarked(element, rules, marks, at));
  if (!(mark in value)) return value;
  const { [mark]: asked, ...rest } = value as Members;
  if (record(asked) !== null) marks.push(at);
  return rest;
}
