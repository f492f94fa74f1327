/** The common form as a generateContent request. The model and the wish for a stream stand in the path. */
import type { ChatRequest, Media, Message, Part, ProtocolId, Tool } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { opening, withQuestion } from '../shared/conversation-order.ts';
import { reportDropped } from '../shared/dropped-fields.ts';
import { budgetOf, effortOf } from '../shared/effort.ts';
import { copyExtraFields, type SharedFields } from '../shared/extra-fields.ts';
import { guardedLookup, present, record } from '../shared/json.ts';
import { typeOfAddress } from '../shared/media.ts';
import { candidatesOf, withinLimits } from '../shared/model-limits.ts';
import { isWebSearch, reportSearchLimits } from '../shared/search.ts';
import {
  argumentsObject,
  customSchema,
  notPassed,
  offeredChoice,
  portableId,
  portableName,
  wrapCustom,
} from '../shared/tools.ts';
import { type Target, unknownTarget } from '../target.ts';

const sharedFields: SharedFields = {
  safetySettings: 'list',
  cachedContent: 'string',
  labels: 'object',
  serviceTier: 'string',
};
/** Documented stand-in for a signature that was lost on the way. */
export const lostSignature = 'skip_thought_signature_validator';
const maxStops = 5;

type Block = Record<string, unknown>;

export function encodeRequest(
  requested: ChatRequest,
  dropped: Dropped,
  target: Target = unknownTarget,
): Record<string, unknown> {
  const request = withinLimits(requested, target, dropped);
  const { system, contents } = encodeMessages(request, target, dropped);
  const tools = encodeTools(request, dropped);
  reportDropped(request, { dialect: 'gemini-generate' }, dropped);
  if (request.parallelToolCalls === false) dropped.push('/parallel_tool_calls: cannot be switched off');
  if (request.user !== null) dropped.push('/user: not known to the upstream');
  if (request.stop.length > maxStops) dropped.push(`/stop: only ${maxStops} are taken`);
  const config = present({
    temperature: request.temperature,
    topP: request.topP,
    // Others say by 0 that all words may be drawn.
    topK: request.topK === 0 ? null : request.topK,
    maxOutputTokens: request.maxTokens,
    stopSequences: request.stop.length === 0 ? undefined : request.stop.slice(0, maxStops),
    seed: request.seed,
    presencePenalty: request.presencePenalty,
    frequencyPenalty: request.frequencyPenalty,
    candidateCount: candidatesOf(request, dropped, 'gemini-generate'),
    ...encodeFormat(request.responseFormat),
    responseModalities: request.modalities?.map((name) => name.toUpperCase()),
    thinkingConfig: encodeThinking(request, target),
  });
  const calling = encodeCalling(request, tools, dropped);
  return present({
    contents,
    systemInstruction: system.length === 0 ? undefined : { parts: system },
    tools: tools.length === 0 ? undefined : tools,
    toolConfig: calling === null ? undefined : { functionCallingConfig: calling },
    generationConfig: Object.keys(config).length === 0 ? undefined : config,
    ...copyExtraFields(request, sharedFields, dropped),
  });
}

function encodeFormat(format: ChatRequest['responseFormat']): Block {
  if (format === null) return {};
  const json = { responseMimeType: 'application/json' };
  return format.type === 'json' ? json : { ...json, responseJsonSchema: format.schema };
}

const levels: Readonly<Record<string, string>> = { none: 'MINIMAL', minimal: 'MINIMAL', low: 'LOW', medium: 'MEDIUM' };

function encodeThinking({ reasoning }: ChatRequest, target: Target): Block | undefined {
  const budget = budgetOf(reasoning);
  if (reasoning === null || budget === null) {
    return reasoning?.includeThoughts == null ? undefined : { includeThoughts: reasoning.includeThoughts };
  }
  const includeThoughts = budget === 0 ? false : (reasoning.includeThoughts ?? true);
  if (target.thinking !== 'level') return { includeThoughts, thinkingBudget: budget };
  const effort = effortOf(reasoning);
  return effort === null
    ? { includeThoughts }
    : { includeThoughts, thinkingLevel: guardedLookup(levels, effort) ?? 'HIGH' };
}

/** Refused where no function is declared. Source: musistudio/claude-code-router#1207 */
function encodeCalling({ toolChoice: wanted }: ChatRequest, tools: readonly Block[], dropped: Dropped): Block | null {
  const declared = tools.flatMap(({ functionDeclarations }) => (functionDeclarations ?? []) as readonly Block[]);
  if (declared.length === 0) return null;
  const toolChoice = offeredChoice(wanted, new Set(declared.map(({ name }) => name)), dropped);
  if (toolChoice === null) return null;
  if (typeof toolChoice === 'object') return { mode: 'ANY', allowedFunctionNames: [portableName(toolChoice.name)] };
  return { mode: toolChoice === 'required' ? 'ANY' : toolChoice === 'none' ? 'NONE' : 'AUTO' };
}

function encodeTools({ tools, dialect }: ChatRequest, dropped: Dropped): Block[] {
  const declared: Block[] = [];
  const hosted: Block[] = [];
  for (const [index, tool] of tools.entries()) {
    if (tool.kind === 'provider') {
      if (isWebSearch(tool.name)) hosted.push(searchOf(tool, index, dialect, dropped));
      else dropped.push(notPassed(tool, index));
      continue;
    }
    const schema = tool.kind === 'custom' ? customSchema : cleaned(tool.schema);
    declared.push(
      present({
        name: portableName(tool.name),
        description: tool.description,
        parametersJsonSchema: hasArguments(schema) ? schema : undefined,
      }),
    );
  }
  return [...(declared.length === 0 ? [] : [{ functionDeclarations: declared }]), ...hosted];
}

/** The only limits it knows hold on Google's cloud alone. */
function searchOf(tool: Tool, index: number, dialect: ProtocolId, dropped: Dropped): Block {
  if (dialect === 'gemini-generate') return { googleSearch: record(tool.raw)?.googleSearch ?? {} };
  reportSearchLimits(tool, index, [], dropped);
  return { googleSearch: {} };
}

/** An object without members is refused; unions and references at the root are arguments too. */
function hasArguments(schema: unknown): boolean {
  const root = record(schema);
  if (root === null) return false;
  const { type: _, properties, required: __, additionalProperties, description: ___, title: ____, ...more } = root;
  return (
    Object.keys(record(properties) ?? {}).length > 0 ||
    Object.keys(more).length > 0 ||
    record(additionalProperties) !== null
  );
}

/** `$schema` is refused; everything else of JSON Schema is taken. */
function cleaned(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return null;
  const { $schema: _, ...rest } = schema as Record<string, unknown>;
  return rest;
}

function encodeMessages(
  request: ChatRequest,
  { signedCalls, callIds }: Target,
  dropped: Dropped,
): { system: Block[]; contents: Block[] } {
  const messages = withQuestion(request.messages, dropped);
  const firstTurn = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const leading = firstTurn < 0 ? messages.length : firstTurn;
  const place = { dropped, names: callNames(messages), signedCalls, callIds: callIds === true };
  const contents: { role: string; parts: Block[] }[] = [];
  for (const [at, message] of messages.entries()) {
    if (at < leading) continue;
    const role = message.role === 'assistant' ? 'model' : 'user';
    const inside = message.role === 'system' || message.role === 'developer';
    const parts = message.parts.flatMap((part, index) =>
      encodePart(part, { ...place, path: `/messages/${at}/content/${index}` }),
    );
    const instructions = inside
      ? parts.map((part) => ({ ...part, text: `<system>\n${String(part.text)}\n</system>` }))
      : parts;
    const last = contents.at(-1);
    if (last?.role === role) last.parts.push(...instructions);
    else if (instructions.length > 0) contents.push({ role, parts: instructions });
  }
  const system = messages
    .slice(0, leading)
    .flatMap(({ parts }, at) => parts.flatMap((part) => encodePart(part, { ...place, path: `/system/${at}` })));
  if (contents[0]?.role === 'model') {
    dropped.push(opening.reason);
    contents.unshift({ role: 'user', parts: [{ text: opening.text }] });
  }
  // Where they bear no ids results belong to the calls of their place: pictures in them come behind all.
  for (const { parts } of contents) parts.sort((one, other) => rank(one) - rank(other));
  return { system, contents };
}

/** Sorting keeps the order of equals. */
const rank = (block: Block): number => (block.functionResponse === undefined ? 1 : 0);

/** Results are matched by the name of their call. */
function callNames(messages: readonly Message[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { parts } of messages)
    for (const part of parts) if (part.type === 'tool-call') names.set(part.id, part.name);
  return names;
}

interface Place {
  readonly path: string;
  readonly dropped: Dropped;
  readonly names: ReadonlyMap<string, string>;
  /** The model refuses calls without a signature. */
  readonly signedCalls: boolean;
  /** The model has ids for calls, and wants them with the results. */
  readonly callIds: boolean;
}

const mediaBlock = (source: Media, fallback: string): Block =>
  source.kind === 'base64'
    ? { inlineData: { mimeType: source.mimeType, data: source.data } }
    : { fileData: { mimeType: source.mimeType ?? typeOfAddress(source.url) ?? fallback, fileUri: source.url } };

function encodePart(part: Part, place: Place): Block[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text === '' ? [] : [{ text: part.text }];
    case 'image':
      return [mediaBlock(part.source, 'image/jpeg')];
    case 'audio':
      return [mediaBlock(part.source, 'audio/wav')];
    case 'file':
      if (part.source.kind === 'id') break;
      return [mediaBlock(part.source, 'application/pdf')];
    case 'reasoning': {
      if (part.origin !== 'gemini-generate') {
        if (part.signature !== null || part.redacted !== null || part.text !== '')
          place.dropped.push(`${place.path}: a thought without this provider's signature`);
        return [];
      }
      const sealed = part.signature === null ? {} : { thoughtSignature: part.signature };
      return [{ text: part.text, ...(part.text === '' ? {} : { thought: true }), ...sealed }];
    }
    case 'tool-call': {
      const words = part.custom === true ? wrapCustom(part.arguments) : part.arguments;
      const own = part.signature !== undefined && part.origin === 'gemini-generate' ? part.signature : null;
      const signature = own ?? (place.signedCalls ? lostSignature : null);
      return [
        {
          functionCall: { ...idOf(part, place), name: portableName(part.name), args: argumentsObject(words) },
          ...(signature === null ? {} : { thoughtSignature: signature }),
        },
      ];
    }
    case 'tool-result':
      return encodeResult(part, place);
    case 'unknown':
      if (part.dialect === 'gemini-generate') return [part.raw as Block];
      break;
  }
  place.dropped.push(`${place.path}: ${part.type} cannot be sent to the upstream`);
  return [];
}

function encodeResult(part: Extract<Part, { type: 'tool-result' }>, place: Place): Block[] {
  const words: string[] = [];
  const paired: Block[] = [];
  for (const item of part.content) {
    if (item.type === 'text') words.push(item.text);
    else paired.push(...encodePart(item, place));
  }
  const name = portableName(part.name ?? place.names.get(part.id) ?? 'tool');
  const output = words.join('\n');
  const response = part.isError ? { error: output } : { output };
  return [{ functionResponse: { ...idOf(part, place), name, response } }, ...paired];
}

const idOf = ({ id }: { readonly id: string }, { callIds }: Place): { id?: string } =>
  callIds ? { id: portableId(id) } : {};
