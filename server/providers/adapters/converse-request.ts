/** The common form as a Converse request. */
import type { ChatRequest, Message, Part, Tool } from '../../protocols/canonical.ts';
import type { Dropped } from '../../protocols/codec.ts';
import { opening, withQuestion } from '../../protocols/shared/conversation-order.ts';
import { reportDropped } from '../../protocols/shared/dropped-fields.ts';
import { copyExtraFields } from '../../protocols/shared/extra-fields.ts';
import { inWords } from '../../protocols/shared/format-words.ts';
import { present } from '../../protocols/shared/json.ts';
import {
  argumentsObject,
  customSchema,
  objectSchema,
  offeredChoice,
  portableId,
  portableName,
  wrapCustom,
} from '../../protocols/shared/tools.ts';

type Block = Record<string, unknown>;
interface Turn {
  readonly role: string;
  readonly content: Block[];
}

export function encodeRequest(requested: ChatRequest, dropped: Dropped): Record<string, unknown> {
  const request = requested.responseFormat === null ? requested : inWords(requested, requested.responseFormat);
  const system: Block[] = [];
  const messages: Turn[] = [];
  for (const [index, message] of withQuestion(request.messages, dropped).entries()) {
    const blocks = message.parts.flatMap((part) => encodePart(part, `/messages/${index}`, dropped));
    if (message.role === 'system' || message.role === 'developer') system.push(...blocks);
    else add(messages, message, blocks);
  }
  if (messages[0]?.role === 'assistant') {
    dropped.push(opening.reason);
    messages.unshift({ role: 'user', content: [{ text: opening.text }] });
  }
  reportUnsupported(request, dropped);
  copyExtraFields(request, {}, dropped);
  const temperature = request.temperature === null ? null : Math.min(1, request.temperature);
  if (temperature !== request.temperature) dropped.push('/temperature: held to 1');
  return present({
    system: system.length === 0 ? undefined : system,
    messages,
    inferenceConfig: present({
      maxTokens: request.maxTokens,
      temperature,
      topP: request.topP,
      stopSequences: request.stop.length === 0 ? undefined : request.stop,
    }),
    toolConfig: encodeTools(request, messages, dropped),
  });
}

/** What the wire has no place for, or one that only some of its models know. */
function reportUnsupported(request: ChatRequest, dropped: Dropped): void {
  reportDropped(request, { names: true }, dropped);
  for (const [member, isPresent] of [
    ['top_k', request.topK !== null],
    ['seed', request.seed !== null],
    ['presence_penalty', request.presencePenalty !== null],
    ['frequency_penalty', request.frequencyPenalty !== null],
    ['n', request.candidates > 1],
    ['reasoning', request.reasoning !== null],
    ['parallel_tool_calls', request.parallelToolCalls === false],
    ['user', request.user !== null],
  ] as const)
    if (isPresent) dropped.push(`/${member}: not known to the upstream`);
  if (request.responseFormat !== null) dropped.push('/response_format: asked for in words');
}

/** The wire wants tools to be named wherever the history has calls of some. */
function encodeTools(request: ChatRequest, messages: readonly Turn[], dropped: Dropped): Block | undefined {
  const { toolChoice: wanted } = request;
  const offered = request.tools.flatMap((tool, index): Block[] => {
    if (tool.kind !== 'provider') return [toolSpec(tool)];
    dropped.push(`/tools/${index}: ${tool.name} cannot be sent to the upstream`);
    return [];
  });
  const names = offered.map(({ toolSpec: spec }) => (spec as Block).name);
  const toolChoice = offered.length === 0 ? wanted : offeredChoice(wanted, new Set(names), dropped);
  const called = messages.flatMap(({ content }) => content.flatMap(({ toolUse }) => nameOf(toolUse)));
  if (called.length === 0 && (offered.length === 0 || toolChoice === 'none')) return undefined;
  if (toolChoice === 'none' && offered.length > 0)
    dropped.push('/tool_choice: none cannot be sent with calls in the history');
  const tools = offered.length > 0 ? offered : [...new Set(called)].map((name) => toolSpec({ name, ...nothing }));
  const choice =
    toolChoice === 'required'
      ? { any: {} }
      : toolChoice !== null && typeof toolChoice === 'object'
        ? { tool: { name: portableName(toolChoice.name) } }
        : undefined;
  return present({ tools, toolChoice: offered.length > 0 ? choice : undefined });
}

const nothing = { kind: 'function', description: null, schema: null } as const;

const nameOf = (toolUse: unknown): string[] => {
  const { name } = (toolUse ?? {}) as { name?: unknown };
  return typeof name === 'string' ? [name] : [];
};

const toolSpec = ({
  name,
  kind,
  description,
  schema,
}: Pick<Tool, 'name' | 'kind' | 'description' | 'schema'>): Block => ({
  toolSpec: present({
    name: portableName(name),
    description: description === '' ? null : description,
    inputSchema: { json: kind === 'custom' ? customSchema : objectSchema(schema) },
  }),
});

function add(turns: Turn[], message: Message, blocks: Block[]): void {
  const role = message.role === 'assistant' ? 'assistant' : 'user';
  const last = turns.at(-1);
  if (last?.role === role) last.content.push(...blocks);
  else if (blocks.length > 0) turns.push({ role, content: blocks });
}

const resultOf = (id: string, content: Block[], status: string): Block => ({
  toolResult: { toolUseId: id, content, status },
});

function encodePart(part: Part, path: string, dropped: Dropped): Block[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      // Blank blocks are refused.
      return part.text.trim() === '' ? [] : [{ text: part.text }];
    case 'image':
      if (part.source.kind === 'base64') {
        const format = part.source.mimeType.replace(/^image\//, '').replace('jpg', 'jpeg');
        return [{ image: { format, source: { bytes: part.source.data } } }];
      }
      break;
    case 'tool-call': {
      const call = { toolUseId: portableId(part.id), name: portableName(part.name) };
      const words = part.custom === true ? wrapCustom(part.arguments) : part.arguments;
      return [{ toolUse: { ...call, input: argumentsObject(words) } }];
    }
    case 'tool-result': {
      const content = part.content.flatMap((item) => encodePart(item, path, dropped));
      const found = content.length === 0 ? [{ text: '(no output)' }] : content;
      return [resultOf(portableId(part.id), found, part.isError ? 'error' : 'success')];
    }
    case 'reasoning':
      if (part.text !== '') dropped.push(`${path}: a thought without this provider's signature`);
      return [];
    case 'audio':
    case 'file':
    case 'unknown':
      break;
  }
  dropped.push(`${path}: ${part.type} cannot be sent to the upstream`);
  return [];
}
