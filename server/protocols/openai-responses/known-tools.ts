/** A Responses request for an upstream of this dialect that knows few kinds of tools: what can be a function becomes one, the rest is left out. */
import type { Tool } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import type { MemberEdits } from '../definition.ts';
import { type Json, list, present, record, records, text } from '../shared/json.ts';
import { bundled, customSchema, notPassed, offeredOnce, portableName, wrapCustom } from '../shared/tools.ts';
import { decodeTool } from './decode-request.ts';

type Item = Record<string, unknown>;

const typeOf = (value: Json | null): string => text(value?.type) ?? '';

/** Tools that come later stand in the input. */
const laterTools = (input: unknown): Item[] =>
  records(input).flatMap((item) => (item.type === 'additional_tools' ? records(item.tools) : []));

/** Members of a search that only OpenAI reads. */
const ownSearchMembers = ['external_web_access', 'indexed_web_access', 'search_content_types'];

/** A search of what is cached may not become one of the web. @returns null = it cannot be offered. */
function search(tool: Item): Item | null {
  if (tool.external_web_access === false) return null;
  if (!ownSearchMembers.some((name) => Object.hasOwn(tool, name))) return tool;
  return Object.fromEntries(Object.entries(tool).filter(([name]) => !ownSearchMembers.includes(name)));
}

const functionOf = ({ kind, name, description, schema, strict }: Tool): Item => ({
  type: 'function',
  name: portableName(name),
  ...present({ description }),
  parameters: kind === 'custom' ? customSchema : schema,
  strict: strict ?? false,
});

/**
 * Tools of a request that become functions, as the client offered them.
 * @param takes types of tools that the upstream knows.
 */
export const convertedTools = (body: Json, takes: RegExp): readonly Tool[] =>
  [...records(body.tools), ...laterTools(body.input)].flatMap((tool) =>
    takes.test(typeOf(tool)) ? [] : decodeTool(tool).filter(({ kind }) => kind !== 'provider'),
  );

/** What every edit of one request needs. */
interface Conversion {
  readonly takes: RegExp;
  readonly dropped: Dropped;
}

/** @returns the same tool where nothing had to be changed; null = it cannot be offered. */
const knownTool = (tool: Item): Item | null => (/^web_search/.test(typeOf(tool)) ? search(tool) : tool);

function convertTool(tool: Item, at: number, { takes, dropped }: Conversion): Item[] {
  if (takes.test(typeOf(tool))) {
    const known = knownTool(tool);
    if (known === null) dropped.push(`/tools/${at}: a search that may not reach the web is unknown to the upstream`);
    return known === null ? [] : [known];
  }
  return decodeTool(tool).flatMap((one): Item[] => {
    if (one.kind === 'provider') {
      dropped.push(notPassed(one, at));
      return [];
    }
    if (record(record(one.raw)?.format)?.type === 'grammar')
      dropped.push(`/tools/${at}/format: no grammar is followed`);
    return [functionOf(one)];
  });
}

const callName = (item: Json): string => portableName(bundled(text(item.namespace), text(item.name) ?? ''));

/** @returns null = it goes. */
function convertItem(item: Item, place: string, { takes, dropped }: Conversion): Item | null {
  const type = typeOf(item);
  switch (type) {
    case 'additional_tools':
      return null;
    case 'function_call': {
      if (text(item.namespace) === null || takes.test('namespace')) return item;
      const { namespace: _, ...call } = item;
      return { ...call, name: callName(item) };
    }
    case 'custom_tool_call':
      if (takes.test('custom')) return item;
      return {
        type: 'function_call',
        call_id: item.call_id,
        name: callName(item),
        arguments: wrapCustom(text(item.input) ?? ''),
      };
    case 'custom_tool_call_output':
      return takes.test('custom') ? item : { type: 'function_call_output', call_id: item.call_id, output: item.output };
    case 'function_call_output':
      return item;
  }
  // Of a tool that is not offered here.
  const tool = /^(\w+?)(?:_call)?(?:_output)?$/.exec(type)?.[1] ?? '';
  if (tool === type || takes.test(tool)) return item;
  dropped.push(`${place}: ${type} is unknown to the upstream`);
  return null;
}

/** What a choice may name. */
interface Offered {
  readonly functions: ReadonlySet<unknown>;
  readonly types: ReadonlySet<unknown>;
}

const offeredIn = (tools: readonly Item[]): Offered => ({
  functions: new Set(tools.flatMap(({ type, name }) => (type === 'function' ? [name] : []))),
  types: new Set(tools.map(({ type }) => type)),
});

/** @returns undefined = none is left. */
function convertChoice(value: unknown, offered: Offered, { takes, dropped }: Conversion): unknown {
  const choice = record(value);
  if (choice === null) return value;
  if (choice.type === 'allowed_tools') {
    const tools = records(choice.tools).flatMap((one) => {
      const allowed = convertChoice(one, offered, { takes, dropped });
      return record(allowed) === null ? [] : [allowed];
    });
    return tools.length === 0 ? 'auto' : { ...choice, tools };
  }
  const name = text(choice.name);
  const known = name === null ? '' : callName(choice);
  if (name !== null && offered.functions.has(known)) return { type: 'function', name: known };
  if (offered.types.has(choice.type)) return value;
  dropped.push(`/tool_choice: ${name ?? typeOf(choice)} is not offered here`);
  return 'auto';
}

const needsConversion = (body: Json, takes: RegExp): boolean =>
  records(body.tools).some((tool) => !takes.test(typeOf(tool)) || knownTool(tool) !== tool) ||
  records(body.input).some((item) => convertItem(item, '', { takes, dropped: [] }) !== item);

const none: MemberEdits = new Map();

/** @param takes types of tools that the upstream knows. @returns edits of the client's body; what no type is about stays as it is. */
export function withKnownTools(body: Json, takes: RegExp, dropped: Dropped): MemberEdits {
  if (!needsConversion(body, takes)) return none;
  const conversion: Conversion = { takes, dropped };
  const edits = new Map<string, string | undefined>();
  const given = [...records(body.tools), ...laterTools(body.input)];
  const tools = offeredOnce(
    given.flatMap((tool, at) => convertTool(tool, at, conversion)),
    ({ type, name }) => (type === 'function' ? text(name) : null),
    dropped,
  );
  if (given.length > 0) edits.set('tools', tools.length === 0 ? undefined : JSON.stringify(tools));
  if (given.length > 0 && tools.length === 0) {
    edits.set('tool_choice', undefined);
    edits.set('parallel_tool_calls', undefined);
  } else if (record(body.tool_choice) !== null)
    edits.set('tool_choice', JSON.stringify(convertChoice(body.tool_choice, offeredIn(tools), conversion)));
  if (Array.isArray(body.input)) {
    const items = list(body.input);
    const converted = items.map((item, at) => {
      const own = record(item);
      return own === null ? item : convertItem(own, `/input/${at}`, conversion);
    });
    if (converted.some((item, at) => item !== items[at]))
      edits.set('input', JSON.stringify(converted.filter((item) => item !== null)));
  }
  return edits;
}
