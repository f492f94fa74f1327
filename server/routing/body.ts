/** What becomes of a client's body: the edits of one that passes in its own dialect, only those that a channel's configuration can need, or its translation. */
import type { ChatRequest } from '../protocols/canonical.ts';
import type { Dropped } from '../protocols/codec.ts';
import type { MemberEdits, ModelSuffix, SuffixRules } from '../protocols/definition.ts';
import { withKnownTools } from '../protocols/openai-responses/known-tools.ts';
import { commonProtocol } from '../protocols/registry.ts';
import { budgetOf } from '../protocols/shared/effort.ts';
import { guardedLookup, parseExact, record } from '../protocols/shared/json.ts';
import { oneAnswerOnly, withinLimits } from '../protocols/shared/model-limits.ts';
import { reasoningOf } from '../protocols/shared/suffix.ts';
import { type Target as ModelInfo, type ModelParameter, unknownTarget } from '../protocols/target.ts';
import type { BodyForm } from '../providers/adapter.ts';
import {
  editsBetween,
  heldToRules,
  type Rules,
  rejectsMember,
  touches,
  withinRules,
} from '../providers/knowledge/apply.ts';
import type { ModelRow } from '../providers/knowledge/row.ts';
import { rowsFor, sameDemands, targetFor } from '../providers/knowledge/target.ts';
import { Feature, featureOf } from './features.ts';
import type { CallDetails } from './protocol.ts';
import { promptedRequest, systemPromptOf } from './system-prompt.ts';

type Members = Readonly<Record<string, unknown>>;

/** A client's body as edits look at it. */
export interface EditedBody {
  /** Every number is one. */
  readonly members: Members;
  /** Numbers keep their digits. */
  exact(): Members;
  /** Takes out the blocks that the upstream did not sign. */
  readonly foreign: MemberEdits;
}

export interface BodyEdit {
  /** Members of which one must be there; null = it is written in any case. */
  readonly reads: readonly string[] | null;
  /** Features of which the request must have one; absent = it is made whatever the request has. */
  readonly features?: number;
  run(body: EditedBody, dropped: Dropped): MemberEdits;
}

/** Of the provider's own members, those of a chat in OpenAI's form. */
const membersOf = ({ request, place }: CallDetails, form: BodyForm | null): BodyForm['members'] =>
  request.operation === 'chat' && place.dialect === commonProtocol ? form?.members : undefined;

/** What an answer may write at most where the client names no limit. */
const fallbackOf = ({ codec, options, place, request }: CallDetails): number | null =>
  codec.definition.operator?.maxTokens?.(options, place.model, request.model) ?? null;

/** Requests a usage frame. */
const usageMember = 'stream_options';

/** In a stream that passes usage comes only on request, and this provider accepts the member. */
export const requestsUsage = ({ request, codec, translated, wire, rules }: CallDetails): boolean =>
  request.stream &&
  !translated &&
  (request.operation === 'chat' || request.operation === 'completions') &&
  codec.definition.requestsUsage === true &&
  wire === null &&
  !rejectsMember(rules, usageMember);

/** @returns the edits in the order in which they are made: a later one wins. */
export function bodyEdits(call: CallDetails, form: BodyForm | null): readonly BodyEdit[] {
  const { channel, options, codec, suffix, translated } = call;
  if (translated || options.passThrough || channel.setting.pass_through === true) return [];
  const edits: BodyEdit[] = [];
  edits.push(...targetEdits(call));
  const { toolTypes } = call;
  if (toolTypes !== null) edits.push(toolsEdit(toolTypes));
  if (requestsUsage(call)) edits.push(usageEdit);
  if (suffix !== null) {
    const fallback = fallbackOf(call);
    edits.push({ reads: null, run: (body) => codec.definition.suffix.edits(body.exact(), suffix, fallback) });
  }
  const members = membersOf(call, form);
  if (members !== undefined) edits.push({ reads: null, run: (body) => textsOf(members(body.members)) });
  const override = textsOf(channel.paramOverride);
  if (override.size > 0) edits.push({ reads: null, run: () => override });
  return edits;
}

const textsOf = (members: Members): MemberEdits =>
  new Map(Object.entries(members).map(([name, value]) => [name, JSON.stringify(value)]));

const noEdits: MemberEdits = new Map();
const usageOnly: MemberEdits = new Map([[usageMember, '{"include_usage":true}']]);

const usageEdit: BodyEdit = {
  reads: null,
  run({ members }) {
    const options = record(members[usageMember]);
    if (options === null) return usageOnly;
    if (options.include_usage === true) return noEdits;
    return new Map([[usageMember, JSON.stringify({ ...options, include_usage: true })]]);
  },
};

/**
 * What is asked of an upstream that streams where the client does not, or the reverse. Of several answers only one can be
 * gathered, or cut into events.
 * @param before edits that were made already. @param dropped what had to go is added to it.
 */
export function bridgeEdits(
  { request: { stream }, codec }: Pick<CallDetails, 'request' | 'codec'>,
  { members, exact }: Pick<EditedBody, 'members' | 'exact'>,
  before: MemberEdits,
  dropped: Dropped,
): MemberEdits {
  const edits = new Map<string, string | undefined>();
  // Where a stream has an address of its own, the body does not ask for it.
  if (codec.definition.streamOperation === undefined) edits.set('stream', JSON.stringify(stream));
  if (!stream && members[usageMember] !== undefined) edits.set(usageMember, undefined);
  const config = record(members[configMember]);
  if (Number(members.n ?? 1) > 1) edits.set('n', undefined);
  else if (Number(config?.candidateCount ?? 1) > 1) {
    const { [configMember]: current } = editedMembers(exact(), before);
    edits.set(configMember, JSON.stringify(withMember(current, 'candidateCount', undefined) ?? {}));
  } else return edits;
  dropped.push(oneAnswerOnly);
  return edits;
}

/** Where Gemini's requests say how many answers they want. */
const configMember = 'generationConfig';

/** Tools that the upstream does not know although it speaks the client's dialect. */
const toolsEdit = (takes: RegExp): BodyEdit => ({
  reads: ['tools', 'input'],
  run: (body, dropped) => withKnownTools(editedMembers(body.exact(), body.foreign), takes, dropped),
});

/** What the provider does not take, and what its model does not take. */
function targetEdits(call: CallDetails): readonly BodyEdit[] {
  const { rules } = call;
  const fitting = fittingEdit(call);
  if (rules === undefined) return fitting === null ? [] : [fitting];
  if (fitting === null || fitting.reads !== null) {
    const ruled = apart(rules).map((part): BodyEdit => {
      const features = featuresOf(part);
      const run: BodyEdit['run'] = (body, dropped) => ruledEdits(body, part, dropped);
      return { reads: [...part.tops], ...(features === 0 ? {} : { features }), run };
    });
    return fitting === null ? ruled : [fitting, ...ruled];
  }
  const run: BodyEdit['run'] = (body, dropped) => {
    const wins = touches(rules, body.members) ? ruledEdits(body, rules, dropped) : noEdits;
    return new Map([...fitting.run(body, dropped), ...wins]);
  };
  return [{ reads: null, run }];
}

type Rule = Rules['list'][number];

/** Its member leaves a trace among the features of a request. */
const isStray = ({ row: { demand }, path }: Rule): boolean =>
  (demand.kind === 'absent' || demand.kind === 'pictured') &&
  (featureOf(path.at(-1)?.key ?? '') & Feature.strays) !== 0;

/** @returns features without which no rule applies; 0 = they do not decide. */
const featuresOf = ({ list }: Rules): number => (list.every(isStray) ? Feature.strays : 0);

/** Rules that features decide about and the others, where these are about other members: a conversation is not walked for them. */
function apart(rules: Rules): readonly Rules[] {
  const strays = rules.list.filter(isStray);
  const others = rules.list.filter((rule) => !isStray(rule));
  const topsOf = (list: readonly Rule[]): ReadonlySet<string> => new Set(list.map(({ top }) => top));
  const [ofStrays, ofOthers] = [topsOf(strays), topsOf(others)];
  const isSplit = strays.length > 0 && others.length > 0 && ofStrays.isDisjointFrom(ofOthers);
  if (!isSplit || others.some(({ row }) => row.demand.kind === 'present')) return [rules];
  return [
    { list: strays, tops: ofStrays },
    { list: others, tops: ofOthers },
  ];
}

function ruledEdits(body: EditedBody, rules: Rules, dropped: Dropped): MemberEdits {
  const { members, foreign } = body;
  const signed = foreign.size === 0 ? members : editedMembers(members, foreign);
  const within = heldToRules(signed, rules, dropped);
  if (within === signed) return noEdits;
  const exact = body.exact();
  if (exact === members) return editsBetween(signed, within);
  const whole = editedMembers(exact, foreign);
  return editsBetween(whole, heldToRules(whole, rules, []));
}

/** A body as it reads once edits are made. */
export function editedMembers(body: Members, edits: MemberEdits): Members {
  if (edits.size === 0) return body;
  const changed = { ...body };
  for (const [name, value] of edits) {
    if (value === undefined) delete changed[name];
    else changed[name] = parseExact(value);
  }
  return changed;
}

/** Brings the members that follow from the model within what it takes: all where the client meant another one, else those that its rows refuse. */
function fittingEdit(call: CallDetails): BodyEdit | null {
  const { request, codec, options, provider, place, mapped, known } = call;
  if (request.operation !== 'chat') return null;
  const { matches } = codec.definition;
  if (matches === undefined || known === unknownTarget) return null;
  const isOther =
    mapped !== request.model && !sameDemands(known, targetFor(provider.slug, request.model, options.modelRules));
  const rows = rowsFor(provider.slug, place.model, options.modelRules);
  const paths = matches.members
    .map((member): Path => member.split('.') as [string, string?])
    .filter((path) => isOther || mayRefuse(path, rows, known));
  if (paths.length === 0) return null;
  const { model } = place;
  const mapping = { codec, turns: matches.turns, paths, model, known };
  if (isOther) return { reads: null, run: (body, dropped) => mappedEdits(mapping, body.exact(), dropped) };
  return {
    reads: [...new Set(paths.map(([top]) => top))],
    run: (body, dropped) =>
      paths.some((path) => isSuspect(path, valueAt(body.members, ...path), known))
        ? mappedEdits(mapping, body.exact(), dropped)
        : noEdits,
  };
}

type Path = readonly [top: string, inner?: string];

/** Members that a row may refuse, by the last part of their names in all dialects. */
const parameters: Readonly<Record<string, ModelParameter>> = {
  temperature: 'temperature',
  top_p: 'topP',
  topP: 'topP',
  top_k: 'topK',
  topK: 'topK',
  seed: 'seed',
  presence_penalty: 'presencePenalty',
  presencePenalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
  frequencyPenalty: 'frequencyPenalty',
  stop: 'stop',
  stop_sequences: 'stop',
  n: 'candidates',
  candidateCount: 'candidates',
  parallel_tool_calls: 'parallelToolCalls',
};
const efforts = new Set(['reasoning_effort', 'effort']);
/** The older name of the limit, and the newer. */
const limitMembers = new Set(['max_tokens', 'max_completion_tokens']);

const lastOf = ([top, inner]: Path): string => inner ?? top;

/** Whether some value of the member is refused. What is only too much of it, its client knows. */
function mayRefuse(path: Path, rows: readonly ModelRow[], known: ModelInfo): boolean {
  const name = lastOf(path);
  const parameter = guardedLookup(parameters, name);
  if (parameter !== undefined) return known.unsupported.has(parameter) || known.unsupportedWithThinking.has(parameter);
  if (efforts.has(name)) return known.efforts !== null || rows.some(({ thinking }) => thinking === 'none');
  // Both names: what goes from one comes under the other.
  return limitMembers.has(name) && known.limitMember === 'max_completion_tokens';
}

function isSuspect(path: Path, value: unknown, known: ModelInfo): boolean {
  if (value === undefined || value === null) return false;
  const name = lastOf(path);
  if (name === known.limitMember) return false;
  return !(efforts.has(name) && typeof value === 'string' && known.efforts?.includes(value) === true);
}

interface Mapping extends Pick<CallDetails, 'codec' | 'known'> {
  readonly turns: string;
  readonly paths: readonly Path[];
  readonly model: string;
}

/**
 * Encodes what concerns the model alone with what is known of it, without that, and without a thought: where these differ
 * the client's words are replaced.
 * @param body the client's own. @param dropped what had to go is added to it.
 */
function mappedEdits(
  { codec: { translation }, turns, paths, model, known }: Mapping,
  body: Members,
  dropped: Dropped,
): MemberEdits {
  const requested: Record<string, unknown> = { [turns]: [], model };
  for (const name of ['tools', ...paths.map(([top]) => top)])
    if (body[name] !== undefined) requested[name] = body[name];
  const request = translation.decodeRequest(requested, { model, stream: false });
  const fallback: string[] = [];
  const losses: string[] = [];
  const without = translation.encodeRequest(request, fallback, unknownTarget);
  const unthinking = translation.encodeRequest({ ...request, reasoning: null }, [], unknownTarget);
  const encoded = translation.encodeRequest(request, losses, known);
  const changed = new Map<string, unknown>();
  for (const [top, inner] of paths) {
    const value = valueAt(encoded, top, inner);
    const usually = [without, unthinking].every((other) => same(value, valueAt(other, top, inner)));
    if (usually || holds(valueAt(body, top, inner), value)) continue;
    changed.set(top, inner === undefined ? value : withMember(changed.get(top) ?? body[top], inner, value));
  }
  if (changed.size > 0) {
    const usual = new Set(fallback);
    for (const loss of losses) if (!usual.has(loss)) dropped.push(loss);
  }
  return new Map([...changed].map(([name, value]) => [name, value === undefined ? undefined : JSON.stringify(value)]));
}

const valueAt = (body: Members, top: string, inner: string | undefined): unknown =>
  inner === undefined ? body[top] : record(body[top])?.[inner];

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Whether the client's value includes this one; other members of it are its own. */
function holds(actual: unknown, value: unknown): boolean {
  const [object, own] = [record(value), record(actual)];
  if (object === null || own === null) return same(value, actual);
  return Object.entries(object).every(([name, member]) => same(member, own[name]));
}

function withMember(object: unknown, name: string, value: unknown): Members | undefined {
  const { [name]: _, ...rest } = record(object) ?? {};
  const next = value === undefined ? rest : { ...rest, [name]: value };
  return Object.keys(next).length === 0 ? undefined : next;
}

/** A request in the upstream's dialect or wire, made of the common form. */
export interface Translate {
  /** @param ceiling the longest answer that can be paid. */
  encode(request: ChatRequest, ceiling: number | undefined, dropped: Dropped): Record<string, unknown>;
  /** Blocks that the upstream did not sign are looked for. */
  readonly checksSignatures: boolean;
  /** The provider's own members, then its rules, then the channel's override. */
  finish(body: Members, dropped: Dropped): Members;
}

export function translateFor(call: CallDetails, form: BodyForm | null): Translate {
  const { request, channel, options, codec, wire, place, suffix, known, rules } = call;
  const { definition, translation } = codec;
  const { model } = place;
  const { operator } = definition;
  // Behind an address of its own only the operator knows.
  const target = channel.setting.cache_marks === true ? { ...known, cacheMarks: true as const } : known;
  const encode = wire?.encodeRequest ?? translation.encodeRequest;
  const bare = wire !== null && wire.dialect === undefined;
  const prompt = systemPromptOf(channel);
  const fallback = fallbackOf(call);
  const members = membersOf(call, form);
  // A usage frame has to be requested: the client's dialect reports usage without a member for it.
  const usage = definition.requestsUsage === true && wire === null && request.stream;
  return {
    encode(chat, ceiling, dropped) {
      const within = ceiling === undefined ? chat : withinCeiling(chat, Math.min(ceiling, chat.ceiling ?? ceiling));
      const asked = call.bridged ? bridgedRequest(within, request.stream, dropped) : within;
      const named: ChatRequest = { ...asked, model, maxTokens: asked.maxTokens ?? fallback };
      const requested = suffix === null ? named : withSuffix(named, suffix, definition.suffix, fallback);
      const prompted = prompt === null ? requested : promptedRequest(requested, prompt);
      const changed = operator?.change?.(prompted, options) ?? prompted;
      // A wire without a dialect knows nothing of models.
      const body = bare ? encode(withinLimits(changed, target, dropped), dropped) : encode(changed, dropped, target);
      if (usage) body.stream_options = { include_usage: true };
      return body;
    },
    checksSignatures: wire === null && codec.foreignBlocks !== undefined,
    finish(body, dropped) {
      const requested = members === undefined ? body : { ...body, ...members(body) };
      return { ...withinRules(requested, rules, dropped), ...channel.paramOverride };
    },
  };
}

function bridgedRequest(request: ChatRequest, stream: boolean, dropped: Dropped): ChatRequest {
  if (request.candidates > 1) dropped.push(oneAnswerOnly);
  return { ...request, stream, candidates: 1 };
}

/** A thought that is larger than the answer's limit would raise it. */
function withinCeiling(given: ChatRequest, ceiling: number): ChatRequest {
  const request = { ...given, ceiling };
  const { reasoning } = request;
  const budget = budgetOf(reasoning);
  if (reasoning === null || budget === null || budget <= ceiling / 2) return request;
  return { ...request, reasoning: { ...reasoning, budget: Math.floor(ceiling / 2) } };
}

function withSuffix(
  request: ChatRequest,
  { effort, budget, share }: ModelSuffix,
  rules: SuffixRules,
  fallback: number | null,
): ChatRequest {
  if (request.reasoning !== null) return request;
  if (effort !== null) return { ...request, reasoning: reasoningOf({ effort }) };
  if (budget !== null) return { ...request, reasoning: reasoningOf({ budget }) };
  return rules.share(request, share ?? 0, fallback);
}
