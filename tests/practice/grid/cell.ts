/** One cell of the grid: a client does one thing at one upstream, and what the double said is held against what arrived. */
import type { Exchange } from '../../doubles/serve.ts';
import type { Driver, Got, Scenario } from './driver.ts';
import { marks, pixel } from './driver.ts';
import { aliasOf, type GridTarget } from './targets.ts';
import type { World } from './world.ts';

export type Verdict = 'well' | 'declared' | 'refused' | 'lost' | 'failed';

export interface CellResult {
  readonly driver: string;
  readonly target: string;
  readonly scenario: string;
  readonly verdict: Verdict;
  /** Rule, member or error. */
  readonly reason: string;
}

const plain = { stream: false, tools: false, image: false, schema: false, effort: null };

export const baseScenarios: readonly Scenario[] = [
  { ...plain, name: 'plain' },
  { ...plain, name: 'stream', stream: true },
  { ...plain, name: 'tools', tools: true },
  { ...plain, name: 'tools streamed', tools: true, stream: true },
  { ...plain, name: 'image', image: true },
  { ...plain, name: 'schema', schema: true },
];

export const thinkingScenarios = (effort: string): readonly Scenario[] => [
  { ...plain, name: `thinking ${effort}`, effort },
  { ...plain, name: `thinking ${effort}, tools streamed`, effort, tools: true, stream: true },
];

/** What its own clients may not ask of it says nothing about a gateway: the bytes pass as they were written. */
function allowed({ own, lacks = [] }: GridTarget, { protocol }: Driver, scenario: Scenario): boolean {
  const efforts = own[protocol];
  if (efforts === undefined) return true;
  if (scenario.effort !== null && !efforts.includes(scenario.effort)) return false;
  return !(
    (scenario.tools && lacks.includes('tools')) ||
    (scenario.image && lacks.includes('images')) ||
    (scenario.schema && lacks.includes('schema'))
  );
}

export function scenariosOf(target: GridTarget, driver: Driver): readonly Scenario[] {
  const all = [...baseScenarios, ...driver.efforts.flatMap(thinkingScenarios)];
  return all.filter((scenario) => allowed(target, driver, scenario));
}

/** JSON as it reads, whatever was escaped on the way. */
const readable = ({ body }: Exchange): string => JSON.stringify(body).replaceAll('\\"', '"');

/** What is told as text, in whatever pieces it comes. */
function wordsIn(value: unknown, key = ''): string {
  if (typeof value === 'string') return ['text', 'content', 'tool_plan'].includes(key) ? value : '';
  if (Array.isArray(value)) return value.map((item) => wordsIn(item, key)).join('');
  if (value === null || typeof value !== 'object') return '';
  return Object.entries(value)
    .map(([name, inner]) => wordsIn(inner, name))
    .join('');
}

function missingIn(first: Exchange, second: Exchange | undefined, scenario: Scenario): string[] {
  const text = readable(first);
  const missing: string[] = [];
  const want = (name: string, mark: string, where = text) => {
    if (!where.includes(mark)) missing.push(`sent ${name}`);
  };
  want('system', marks.system.replaceAll('"', ''));
  want('user', marks.user);
  if (scenario.tools) {
    want('tool', marks.tool);
    want('tool words', marks.toolWords);
    want('tool schema', 'CITY-2e9');
  }
  if (scenario.image) want('image', pixel);
  if (scenario.schema) want('schema', '"days"');
  if (second !== undefined) {
    const again = readable(second);
    want('result', marks.result, again);
    const words = first.said?.words.join('') ?? '';
    // Clients of an upstream's own dialect may name what it keeps.
    if (!again.includes('"item_reference"')) want('words in history', words, wordsIn(second.body));
    for (const { id } of first.said?.calls ?? []) want('call in history', first.said?.calls[0]?.name ?? id, again);
  }
  return missing;
}

/** Whether a line of the log speaks of this loss. */
function declares(said: string, what: string): boolean {
  if (what.startsWith('sent tool') || what === 'sent result') return said.startsWith('/tools');
  if (what === 'sent schema') return /schema|format/.test(said);
  return what === 'sent image' ? /image|picture/.test(said) : false;
}

/** Wires without ids of calls, or with ids that need not come back. */
const idless = (exchange: Exchange): boolean => !JSON.stringify(exchange.said?.calls ?? []).includes('"id"');

const sorted = (value: unknown): unknown =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;
const same = (a: unknown, b: unknown): boolean => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));

function differencesOf(
  { said }: Exchange,
  got: Got,
  visible: { readonly ids: boolean; readonly thoughts: boolean },
): string[] {
  if (said === null) return [];
  const differences: string[] = [];
  const words = said.words.join('');
  if (got.text !== words && !got.text.endsWith(words)) differences.push(`text "${got.text.slice(0, 40)}"`);
  if (got.text.length > 2 * words.length + 200) differences.push('text twice');
  // Some clients ask for a schema by a tool of their own and show what it was called with.
  if (got.calls.length === 0 && said.calls.length === 1 && got.text === JSON.stringify(said.calls[0]?.args)) return [];
  if (got.calls.length !== said.calls.length) differences.push(`${got.calls.length} of ${said.calls.length} calls`);
  for (const [at, call] of said.calls.entries()) {
    const one = got.calls[at];
    if (one === undefined) continue;
    if (one.name !== call.name) differences.push(`name ${one.name}`);
    if (!same(one.args, call.args)) differences.push(`arguments ${JSON.stringify(one.args)}`);
    if (visible.ids && one.id !== null && one.id !== call.id) differences.push(`id ${one.id} instead of ${call.id}`);
  }
  const thoughts = said.thoughts.join('');
  if (visible.thoughts && got.thoughts.trim() !== thoughts.trim())
    differences.push(`thoughts "${got.thoughts.slice(0, 30)}"`);
  const { usage } = said;
  if (got.usage === null || got.usage.prompt !== usage.prompt || got.usage.output !== usage.output)
    differences.push(`usage ${JSON.stringify(got.usage)} instead of ${usage.prompt}/${usage.output}`);
  return differences;
}

/** What a double keeps to itself on its wire. */
function visibleBy(exchange: Exchange, driver: Driver): { readonly ids: boolean; readonly thoughts: boolean } {
  const { body, path, model } = exchange;
  const text = JSON.stringify(body);
  const google = path.includes('enerateContent');
  const hidden =
    (google && !text.includes('"includeThoughts":true')) ||
    (path.endsWith('/responses') && !text.includes('"summary":"')) ||
    (path.includes('/messages') && text.includes('"display":"omitted"')) ||
    (path.includes('chat/completions') && /^(?:gpt-\d|o\d)/.test(model)) ||
    (model.startsWith('sonar') && driver.protocol === 'openai-chat');
  const nameless = path === '/api/chat' || (google && (!/gemini-[3-9]/.test(model) || path.includes('/projects/')));
  return { ids: !nameless && !idless(exchange), thoughts: !hidden && showsThoughts(driver) };
}

/** Not of clients whose package drops what stands beside its dialect's own members, nor of those that do not ask for thoughts. */
const showsThoughts = (driver: Driver): boolean =>
  driver.name !== 'ai openai.chat' && !/google|anthropic|responses/.test(driver.name);

export async function runCell(
  world: World,
  target: GridTarget,
  driver: Driver,
  scenario: Scenario,
): Promise<CellResult> {
  const result = (verdict: Verdict, reason = ''): CellResult => ({
    driver: driver.name,
    target: aliasOf(target),
    scenario: scenario.name,
    verdict,
    reason,
  });
  world.take();
  let got: readonly Got[];
  let failure: string | null = null;
  try {
    got = await driver.run(world, aliasOf(target), scenario);
  } catch (error) {
    got = [];
    failure = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
  const exchanges = world.take();
  const rejected = exchanges.find((exchange) => exchange.rejected !== null)?.rejected;
  if (rejected != null) return result('refused', `${rejected.rule}: ${rejected.refusal.message.slice(0, 140)}`);
  if (failure !== null) return result('failed', failure.slice(0, 200));
  const [first, second] = exchanges;
  if (first === undefined) return result('failed', 'nobody was asked');
  const unsent = missingIn(first, second, scenario);
  const unseen = exchanges.flatMap((exchange, at) => {
    const one = got[at];
    return one === undefined ? [`turn ${at + 1}`] : differencesOf(exchange, one, visibleBy(exchange, driver));
  });
  if (unseen.length > 0) return result('lost', unseen.join('; '));
  if (unsent.length === 0) return result('well');
  const dropped = await world.dropped();
  const silent = unsent.filter((what) => !dropped.some((said) => declares(said, what)));
  return silent.length > 0
    ? result('lost', silent.join('; '))
    : result('declared', `${unsent.join('; ')} [${dropped.join('; ')}]`);
}
