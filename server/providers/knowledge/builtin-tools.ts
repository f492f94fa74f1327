/** Work that a request can have its provider do besides running the model: where it is asked for, what it is priced as, and how answers report it. */
import { cheapestOnlyIf, dearest, type Reading } from '../../contract/pricing/dearest.ts';
import { guardedLookup, type Json, record, text } from '../../protocols/shared/json.ts';
import { anyAsks, looseName, readingsOf, valuesOf } from '../../protocols/shared/member-name.ts';

export interface HostedUse {
  /** Its name among the prices of tools. */
  readonly tool: string;
  /** Priced units of one call: results, sources, containers. */
  readonly units: number;
  /** Units to reserve. */
  readonly max: number;
  /** Asked for as a tool: dialects that list the calls of tools in their answers report it. */
  readonly listed: boolean;
  /** Names under which answers count it for less than it costs: such a call is charged as `units` of this tool. */
  readonly instead: readonly string[];
  /** Other names that answers report it by, at prices of their own. */
  readonly reportedAs: RegExp | null;
  /** A member of the usage object that says how often, also when it says 0. */
  readonly reportedBy: string | null;
}

type Row = Partial<Omit<HostedUse, 'tool'>>;

/** Searches of a provider's own that stand in the usage: Perplexity's, xAI's, OpenRouter's native ones, Gemini's. */
const searches = /^(?:search_request|search_query|web_search|live_search|x_search|google_)/;
/** A model calls a tool several times for one answer; what is sold by the answer or by the session is paid once. */
const defaultCalls = 5;
const max = 1000;

const use = (tool: string, row: Row = {}): HostedUse => ({
  tool,
  units: 1,
  max: defaultCalls,
  listed: false,
  instead: none,
  reportedAs: null,
  reportedBy: null,
  ...row,
});
const none: readonly never[] = [];

/** What every parser takes for off. Some take the word "false" for a text that says something. */
const isOn = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && value !== 0 && value !== '';

const isFalse = (value: unknown): boolean => value === false;

/** Elements of a list. Google's parser and others take one object for a list of it. */
const listed = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : record(value) === null ? none : [value];

const unitsIn = ({ value, place }: Reading<unknown>): Reading => ({
  value: typeof value === 'number' || typeof value === 'string' ? Math.min(max, Math.ceil(Number(value))) : Number.NaN,
  place,
});

/** A number of units that a member names: fewer than usual only where every spelling says so, the exact one among them. */
function unitsOf(object: Json, exact: string, usual: number): number {
  const readings = readingsOf(object, looseName(exact));
  const fewer = (value: unknown): boolean => typeof value === 'number' && value > 0 && value < usual;
  return dearest(readings.map(unitsIn), cheapestOnlyIf(readings, exact, fewer) ? 1 : usual);
}

const word = (value: unknown): string => (typeof value === 'string' ? value.toLowerCase() : '');

/** OpenRouter's search is sold by the result, five unless the request says otherwise. Source: https://openrouter.ai/docs/features/web-search */
export const webPlugin = (results = 5): HostedUse =>
  use('web_plugin', { units: results, max: results, instead: ['web_search'] });

/** It mends the JSON of an answer, and costs nothing. Source: https://openrouter.ai/docs/guides/features/plugins/response-healing */
const freePlugin = 'response-healing';

function pluginUse(plugin: unknown): readonly HostedUse[] {
  const own = record(plugin) ?? { id: plugin };
  if (cheapestOnlyIf(readingsOf(own, 'enabled'), 'enabled', isFalse)) return none;
  const ids = readingsOf(own, 'id');
  if (cheapestOnlyIf(ids, 'id', (id) => id === freePlugin)) return none;
  const named = new Set(ids.map(({ value }) => word(value)));
  named.delete(freePlugin);
  const uses = [...named].map((id) =>
    id === 'web' ? webPlugin(unitsOf(own, 'max_results', 5)) : use(`plugin_${nameOf(id)}`, { max: 1 }),
  );
  return uses.length > 0 ? uses : [use('plugin_unnamed', { max: 1 })];
}

/** One that is no list is one of them where it has an id, or is one. */
const pluginsIn = (value: unknown): readonly unknown[] =>
  typeof value === 'string' && value !== ''
    ? [value]
    : listed(value).filter((one) => Array.isArray(value) || readingsOf(record(one) ?? {}, 'id').length > 0);

/** Members that ask for a search, by their loose names. */
const members: Readonly<Record<string, (value: unknown) => readonly HostedUse[]>> = {
  // One search for each answer of a search model. Source: https://platform.openai.com/docs/pricing
  websearchoptions: (value) => (isOn(value) ? [use('web_search_options', { max: 1, reportedAs: searches })] : none),
  // Source: https://www.alibabacloud.com/help/en/model-studio/web-search
  enablesearch: (value) => (isOn(value) ? [use('enable_search')] : none),
  // Baidu's. Source: https://cloud.baidu.com/doc/qianfan-api/s/3m7of64lb
  websearch(value) {
    const isOff = cheapestOnlyIf(readingsOf(record(value) ?? {}, 'enable'), 'enable', isFalse);
    return isOn(value) && !isOff ? [use('web_search', { max: 1 })] : none;
  },
  // Hunyuan's. Source: https://cloud.tencent.com/document/product/1729/111007
  enableenhancement: (value) => (isOn(value) ? [use('web_search', { max: 1 })] : none),
  forcesearchenhancement: (value) => (isOn(value) ? [use('web_search', { max: 1 })] : none),
  enabledeepsearch: (value) => (isOn(value) ? [use('web_search', { max: 1 })] : none),
  // Sold by the source, 20 unless the request says otherwise. Source: https://docs.x.ai/docs/guides/live-search
  searchparameters(value) {
    const own = record(value) ?? {};
    if (!isOn(value) || cheapestOnlyIf(readingsOf(own, 'mode'), 'mode', (mode) => mode === 'off')) return none;
    const sources = unitsOf(own, 'max_search_results', 20);
    return [use('live_search', { units: sources, max: sources, reportedBy: 'num_sources_used' })];
  },
  plugins: (value) => pluginsIn(value).flatMap(pluginUse),
  // Source: https://docs.cohere.com/v1/reference/chat
  connectors: (value) => listed(value).map(() => use('web_search', { max: 1 })),
};

/** Loose names of all these members. */
export const hostedNames: readonly string[] = [...Object.keys(members), 'mcpservers', 'contextmanagement'];

/** What a member of a request, or of an object in it, asks for. @param name its loose name. */
export function hostedByMember(name: string, value: unknown): Hosted {
  const uses = Object.hasOwn(members, name) ? (members[name]?.(value) ?? none) : none;
  if (uses.length > 0) {
    const calls = callsOf(uses);
    return { uses, reads: Math.max(defaultCalls, calls) * searchTokens, calls };
  }
  return name === 'mcpservers' && listed(value).length > 0 ? { uses, reads: endless, calls: defaultCalls } : noneHosted;
}

/** Of OpenRouter's preferences the ones that narrow the choice for the sake of privacy, or lower the price. */
const harmless: ReadonlySet<string> = new Set([
  'datacollection',
  'zdr',
  'requireparameters',
  'allowfallbacks',
  'enforcedistillabletext',
  'maxprice',
]);

/**
 * Members that let the client choose another host, at another price than the model's. @returns their paths within the member.
 * Source: https://openrouter.ai/docs/features/provider-routing
 */
export function selectsHost(name: string, value: unknown): readonly string[] {
  const own = name === 'provider' ? record(value) : null;
  return own === null ? none : Object.keys(own).filter((key) => !harmless.has(looseName(key)) && isOn(own[key]));
}

/**
 * What a search gives the model to read, in tokens, with some room: OpenAI bills 8,000 where it bills by the search, and
 * Anthropic's example reads 7,000. Sources: https://platform.openai.com/docs/pricing,
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
 */
const searchTokens = 10_000;
/** What a result of a file search gives the model to read. Source: OpenAI's file search, max_chunk_size_tokens of usual stores. */
const resultTokens = 800;
/** As much as the model takes: for pages, files, and responses of other servers. */
const endless = Number.POSITIVE_INFINITY;

interface TypeRow {
  /** Matches the type in lower case. */
  readonly type: RegExp;
  /** null = the client runs it, or its tokens are all there is to pay. */
  readonly tool: string | null;
  readonly row?: Row;
  /** Tokens that one call gives the model to read, at most; absent = those of a search where there is something to pay, else none. */
  readonly reads?: number;
}

/** A container is opened once for an answer. Source: https://platform.openai.com/docs/pricing */
const container: Row = { max: 1 };

/** Tools by their `type`; the first row holds. */
const types: readonly TypeRow[] = [
  {
    type: /^(?:function|custom|namespace|tool_search|local_shell|apply_patch|programmatic_tool_calling)$/,
    tool: null,
  },
  { type: /^mcp(?:_toolset)?$/, tool: null, reads: endless },
  // Source: https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview
  { type: /^(?:bash|text_editor|memory|computer|tool_search_tool_\w+|advisor)(?:_\d+)?$/, tool: null },
  { type: /^computer_(?:use|use_preview)$/, tool: null },
  // Documents of a knowledge base, paid by their tokens. Source: https://docs.bigmodel.cn/cn/guide/tools/knowledge/retrieval
  { type: /^retrieval$/, tool: null, reads: endless },
  { type: /^web_search_preview/, tool: 'web_search_preview', row: { instead: ['web_search'] } },
  { type: /^web_search_premium/, tool: 'web_search_premium', row: { instead: ['web_search'] } },
  { type: /^openrouter:web_search$/, tool: 'web_plugin', row: { units: 5, max: 25, instead: ['web_search'] } },
  { type: /^(?:web_search|browser_search)/, tool: 'web_search', row: { reportedAs: searches } },
  { type: /^(?:openrouter:)?web_fetch/, tool: 'web_fetch', reads: endless },
  { type: /^openrouter:datetime$/, tool: null },
  { type: /^live_search$/, tool: 'live_search', row: { units: 20, max: 20, reportedBy: 'num_sources_used' } },
  { type: /^x_search/, tool: 'x_search' },
  { type: /^(?:file_search|collections_search)/, tool: 'file_search' },
  { type: /^code_interpreter/, tool: 'code_interpreter', row: container },
  { type: /^code_execution/, tool: 'code_execution', row: container },
  { type: /^shell/, tool: 'shell', row: container },
  { type: /^(?:openrouter:)?image_generation/, tool: 'image_generation', row: { max: 1 }, reads: 0 },
];

/** Google names a tool by its one member; null = nothing to pay but tokens. Source: https://ai.google.dev/gemini-api/docs/pricing */
const googleTools: Readonly<Record<string, readonly HostedUse[]>> = {
  functiondeclarations: none,
  urlcontext: none,
  codeexecution: none,
  computeruse: none,
  filesearch: none,
  googlesearch: googleSearch(),
  googlesearchretrieval: googleSearch(),
  googlemaps: [use('google_maps_prompt', { max: 1, listed: true })],
  // Source: https://cloud.google.com/vertex-ai/generative-ai/pricing
  enterprisewebsearch: [use('enterprise_web_search', { max: 1, listed: true, instead: ['google_search_prompt'] })],
  // No answer counts it.
  retrieval: [use('vertex_search', { max: 1 })],
};

/** What these give the model to read, and the bill counts; of the others nothing. It counts its prompt once. Source: https://ai.google.dev/gemini-api/docs/url-context */
const googleReads: Readonly<Record<string, number>> = { urlcontext: endless, filesearch: endless, retrieval: endless };

function googleSearch(): readonly HostedUse[] {
  return [use('google_search', { listed: true }), use('google_search_prompt', { max: 1, listed: true })];
}

/** Another model that a request lets work on its answer, and that is paid by its own tokens. */
export interface OtherModel {
  readonly model: string;
  /** How often it may read the whole conversation. */
  readonly calls: number;
  /** Tokens that it writes each time; null = it may write the whole answer. */
  readonly writes: number | null;
  /** Tokens that a limit of its own allows. */
  readonly most?: number;
}

/**
 * An adviser's words and thoughts seldom take more, unless the request lets them: 1,400 to 1,800 tokens are usual.
 * Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/advisor-tool
 */
const adviceTokens = 4096;
const adviser = /^advisor(?:_\d+)?$/;

/** Models that a list of tools asks for advice. @param value the member `tools`. */
export const advisersIn = (value: unknown): readonly OtherModel[] =>
  listed(value).flatMap((item): readonly OtherModel[] => {
    const tool = record(item) ?? {};
    if (!anyAsks(tool, 'type', (type) => adviser.test(word(type)))) return none;
    const calls = unitsOf(tool, 'max_uses', defaultCalls);
    const writes = dearest(readingsOf(tool, 'maxtokens').map(tokensIn), adviceTokens);
    return namedModels([tool]).map((model) => ({ model, calls, writes }));
  });

const tokensIn = ({ value, place }: Reading<unknown>): Reading => ({ value: Number(value), place });

/** Models that a list names, by themselves or in objects. */
export const namedModels = (items: readonly unknown[]): readonly string[] =>
  items.flatMap((item) => text(item) ?? valuesOf(record(item) ?? {}, 'model').flatMap((model) => text(model) ?? none));

/** A name that may stand among prices: no colon, and no dash, which would make it a variant. */
const nameOf = (raw: string): string => looseWords(raw).slice(0, 64) || 'unnamed';
const looseWords = (raw: string): string => raw.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');

/** What one tool says of its bounds: read once, however many types it names. */
class ToolBounds {
  private uses: number | null = null;
  private searched: number | null = null;
  private found: readonly Reading[] | null = null;
  private size: string | null = null;
  private local: boolean | null = null;

  constructor(readonly tool: Json) {}

  /** Calls, 0 = it does not say. */
  get calls(): number {
    this.uses ??= dearest(readingsOf(this.tool, 'maxuses').map(unitsIn), 0);
    return this.uses;
  }

  /** Results of a search in files that the model reads, 0 = it does not say. */
  get fileResults(): number {
    this.searched ??= dearest(readingsOf(this.tool, 'maxnumresults').map(unitsIn), 0);
    return this.searched;
  }

  get results(): readonly Reading[] {
    this.found ??= resultsIn(this.tool);
    return this.found;
  }

  get memory(): string {
    this.size ??= memoryOf(this.tool);
    return this.size;
  }

  get isLocalShell(): boolean {
    this.local ??= isLocalShell(this.tool);
    return this.local;
  }
}

/** Objects that say where a tool runs. */
const placesOf = (tool: Json): readonly Json[] =>
  [...valuesOf(tool, 'container'), ...valuesOf(tool, 'environment')].flatMap((place) => record(place) ?? none);

const gigabytes = /^[1-9]\d{0,5}g$/;

/** Containers are sold by their memory, 1 GB unless the request says otherwise. What is no size of theirs is the dearest of all. */
function memoryOf(tool: Json): string {
  const limits = placesOf(tool).flatMap((place) => readingsOf(place, 'memorylimit').filter(({ value }) => isOn(value)));
  const [odd] = limits.filter(({ value }) => !gigabytes.test(word(value)));
  if (odd !== undefined) return `-${nameOf(word(odd.value) || String(odd.value))}`;
  const size = dearest(
    limits.map(({ value, place }) => ({ value: Number.parseInt(word(value), 10), place })),
    1,
  );
  return size === 1 ? '' : `-${size}g`;
}

/** A shell of the client's own: one that runs in no container. Source: https://platform.openai.com/docs/guides/tools-shell */
function isLocalShell(tool: Json): boolean {
  const places = readingsOf(tool, 'environment').filter(({ value }) => value !== null);
  const isLocal = (place: unknown): boolean =>
    cheapestOnlyIf(readingsOf(record(place) ?? {}, 'type'), 'type', (type) => type === 'local');
  return places.length === 0 || cheapestOnlyIf(places, 'environment', isLocal);
}

const resultsIn = (tool: Json): readonly Reading[] =>
  valuesOf(tool, 'parameters').flatMap((own) => readingsOf(record(own) ?? {}, 'maxresults').map(unitsIn));

/** Kimi's own functions. Source: https://platform.kimi.com/docs/pricing/tools.md */
function builtinFunctions(tool: Json): readonly HostedUse[] {
  const names = valuesOf(tool, 'function').flatMap((one) => valuesOf(record(one) ?? {}, 'name'));
  return (names.length > 0 ? names : ['']).map((name) =>
    use(`builtin_${nameOf(word(name).replace(/^\$/, ''))}`, { max: 1, listed: true }),
  );
}

function typed(type: string, bounds: ToolBounds): Hosted {
  if (type === 'builtin_function') return { uses: builtinFunctions(bounds.tool), reads: 0, calls: 0 };
  const found = types.find((row) => row.type.test(type));
  // Fewer than usual are held for by no word of the client's: few hosts heed it, and translations leave it out.
  const limit = bounds.calls;
  const calls = Math.max(limit, defaultCalls);
  if (found === undefined) return { uses: [use(nameOf(type), { listed: true })], reads: calls * searchTokens, calls };
  if (found.tool === null || (found.tool === 'shell' && bounds.isLocalShell))
    return found.reads === undefined ? noneHosted : { uses: none, reads: found.reads, calls };
  const reads = calls * Math.max(found.reads ?? searchTokens, resultTokens * bounds.fileResults);
  const most = found.row?.max ?? defaultCalls;
  const { units: usual = 1 } = found.row ?? {};
  // What is sold by the result takes their number in an object.
  const units = usual === 1 ? 1 : dearest(bounds.results, usual);
  const reserved = { units, max: Math.max((most * units) / usual, limit * units) };
  const memory = found.row === container ? bounds.memory : '';
  const variant = memory === '' ? {} : { instead: [found.tool] };
  const uses = [use(`${found.tool}${memory}`, { listed: true, ...found.row, ...reserved, ...variant })];
  return { uses, reads, calls: reads === 0 ? 0 : calls };
}

/** What a provider is asked to do. */
export interface Hosted {
  readonly uses: readonly HostedUse[];
  /** Tokens that it gives the model to read. */
  readonly reads: number;
  /**
   * Calls that give it something: after each the model reads its prompt once more, and all that was found by then. Source:
   * https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool ("in search iterations executed during a single turn")
   */
  readonly calls: number;
  /** Where there are several tools: tokens that the dearest call brings, of the tools that have a bound. */
  readonly each?: number;
}

/** Nearly every member asks for this. */
export const noneHosted: Hosted = { uses: none, reads: 0, calls: 0 };

const callsOf = (uses: readonly HostedUse[]): number =>
  uses.reduce((sum, { max: most, units }) => sum + Math.ceil(most / Math.max(1, units)), 0);

function google(name: string): Hosted {
  const found = guardedLookup(googleTools, looseName(name));
  return found === undefined
    ? { uses: [use(nameOf(name), { listed: true })], reads: defaultCalls * searchTokens, calls: defaultCalls }
    : { uses: found, reads: guardedLookup(googleReads, looseName(name)) ?? 0, calls: 0 };
}

/** Whether a summary is wanted when the conversation gets long: it is written from all of it, in a call of its own. Source: https://platform.claude.com/docs/en/build-with-claude/compaction */
export const readsAgain = (name: string, value: unknown): boolean =>
  name === 'contextmanagement' &&
  anyAsks(record(value) ?? {}, 'edits', (edits) =>
    listed(edits).some((edit) => anyAsks(record(edit) ?? {}, 'type', (type) => word(type).startsWith('compact'))),
  );

/** Names by which a tool without a type is known as the client's own. */
const ownNames: ReadonlySet<string> = new Set(['name', 'function', 'inputschema', 'parameters', 'toolspec']);

/** Calls of all tools that a request allows by one number, at most. */
export const callsIn = (value: unknown): number => dearest([unitsIn({ value, place: 'max_tool_calls' })], 0);

/** What a list of tools asks for. @param value the member `tools`. */
export function hostedByTools(value: unknown): Hosted {
  let found: HostedUse[] | null = null;
  let reads = 0;
  let calls = 0;
  let each = 0;
  for (const item of listed(value)) {
    const tool = record(item);
    if (tool === null) continue;
    // Nearly every tool is a function, and these have nothing that any parser could take for more.
    let types: Set<string> | null = null;
    let isTyped = false;
    let isOwn = false;
    let isGoogle = false;
    for (const key in tool) {
      const loose = looseName(key);
      if (loose === 'type' && typeof tool[key] === 'string') {
        types ??= new Set();
        types.add(word(tool[key]));
        isTyped ||= key === 'type';
      }
      isOwn ||= ownNames.has(loose);
      isGoogle ||= Object.hasOwn(googleTools, loose);
    }
    const all: Hosted[] = [];
    if (types !== null) {
      const bounds = new ToolBounds(tool);
      for (const type of types) all.push(typed(type, bounds));
    }
    // A type under another name may be no type at all.
    if (!isTyped && !isOwn)
      all.push(
        ...Object.keys(tool)
          .filter((key) => !isType(key))
          .map(google),
      );
    else if (isGoogle) all.push(...googleBeside(tool, types));
    for (const hosted of all) {
      reads += hosted.reads;
      calls += hosted.calls;
      each = Math.max(each, eachOf(hosted));
      if (hosted.uses.length === 0) continue;
      found ??= [];
      for (const use of hosted.uses) found.push(use);
    }
  }
  return found === null && reads === 0 ? noneHosted : { uses: found ?? none, reads, calls, each };
}

/** Tokens that one call gives the model to read at most, where that has a bound; else 0. */
export const eachOf = ({ reads, calls, each }: Hosted): number =>
  each ?? (calls > 0 && Number.isFinite(reads) ? reads / calls : 0);

const isType = (key: string): boolean => looseName(key) === 'type';

/** Google's tools in an object that is another host's tool as well; settings of that one bear its type's name. */
function googleBeside(tool: Json, types: ReadonlySet<string> | null): readonly Hosted[] {
  const named = new Set([...(types ?? none)].map(looseName));
  return Object.keys(tool)
    .filter((key) => Object.hasOwn(googleTools, looseName(key)) && !named.has(looseName(key)))
    .map(google);
}
