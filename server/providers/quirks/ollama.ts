/** Ollama's own wire: it knows how large the context shall be, when to unload, whether to think; lines of JSON instead of events. */
import type { ChatRequest, Message, Part } from '../../protocols/canonical.ts';
import type { Dropped } from '../../protocols/codec.ts';
import { effortOf } from '../../protocols/shared/effort.ts';
import { carryExtras } from '../../protocols/shared/extras.ts';
import { lookUp, number, parseJson, present, record, records, text } from '../../protocols/shared/json.ts';
import { ndjsonFraming } from '../../protocols/shared/ndjson.ts';
import { type Said, simpleWire } from '../../protocols/shared/simple-wire.ts';
import { argumentsObject, objectSchema, portableName } from '../../protocols/shared/tools.ts';
import { emptyUsage, tokenCounts } from '../../protocols/shared/usage.ts';
import { embeddingList, textsOf } from '../forms/embedding-list.ts';
import type { ForeignForm, Quirk } from '../quirk.ts';

type Item = Record<string, unknown>;

/** What clients may add for this provider, beside the runtime's own options. */
const carried = new Set(['keep_alive', 'options', 'think', 'num_ctx', 'min_p', 'repeat_penalty', 'repeat_last_n']);
const topLevel = new Set(['keep_alive', 'think']);

function encodeRequest(request: ChatRequest, dropped: Dropped): Item {
  const { options: given, ...extra } = carryExtras(request, carried, dropped);
  const own = Object.entries(extra);
  const options = present({
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK,
    num_predict: request.maxTokens,
    stop: request.stop.length === 0 ? undefined : request.stop,
    seed: request.seed,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
    ...Object.fromEntries(own.filter(([name]) => !topLevel.has(name))),
    ...record(given),
  });
  const tools = encodeTools(request, dropped);
  return present({
    model: request.model,
    messages: encodeMessages(request.messages, dropped),
    // Left out it means yes.
    stream: request.stream,
    tools: tools.length === 0 ? undefined : tools,
    format: encodeFormat(request.responseFormat),
    think: thinkOf(request),
    options: Object.keys(options).length === 0 ? undefined : options,
    ...Object.fromEntries(own.filter(([name]) => topLevel.has(name))),
  });
}

/** Said only when the client spoke of it: models that cannot think refuse the word. */
function thinkOf({ reasoning }: ChatRequest): boolean | string | undefined {
  const effort = effortOf(reasoning);
  if (effort === 'none') return false;
  if (effort === null) return reasoning?.budget === -1 ? true : undefined;
  return effort === 'minimal' ? 'low' : effort === 'low' || effort === 'medium' ? effort : 'high';
}

const encodeFormat = (format: ChatRequest['responseFormat']): unknown =>
  format === null ? undefined : format.type === 'json' ? 'json' : format.schema;

function encodeTools({ tools, toolChoice }: ChatRequest, dropped: Dropped): Item[] {
  if (toolChoice === 'none') return [];
  if (toolChoice !== null && toolChoice !== 'auto') dropped.push('/tool_choice: not known to the upstream');
  return tools.flatMap((tool, index): Item[] => {
    if (tool.kind !== 'function') {
      dropped.push(`/tools/${index}: ${tool.name} cannot be told to the upstream`);
      return [];
    }
    const { description, schema } = tool;
    const told = { name: portableName(tool.name), description: description ?? '', parameters: objectSchema(schema) };
    return [{ type: 'function', function: told }];
  });
}

function encodeMessages(messages: readonly Message[], dropped: Dropped): Item[] {
  /** Results name the tool, clients name the call. */
  const names = new Map<string, string>();
  const told: Item[] = [];
  for (const [index, { role, parts }] of messages.entries()) {
    const path = `/messages/${index}`;
    const said: Part[] = [];
    const calls: Item[] = [];
    for (const part of parts) {
      if (part.type === 'tool-call') {
        names.set(part.id, portableName(part.name));
        const call = { name: portableName(part.name), arguments: argumentsObject(part.arguments) };
        calls.push({ id: part.id, function: call });
      } else if (part.type === 'tool-result') {
        const name = part.name ?? names.get(part.id);
        told.push(
          present({ role: 'tool', ...contentOf(part.content, path, dropped), tool_name: name, tool_call_id: part.id }),
        );
      } else said.push(part);
    }
    if (said.length === 0 && calls.length === 0) continue;
    told.push({
      role: role === 'developer' ? 'system' : role === 'tool' ? 'user' : role,
      ...contentOf(said, path, dropped),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    });
  }
  return told;
}

/** Words are one text; pictures stand beside them, as bytes alone. */
function contentOf(parts: readonly Part[], path: string, dropped: Dropped): Item {
  const images: string[] = [];
  const words: string[] = [];
  let thinking = '';
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'refusal') words.push(part.text);
    else if (part.type === 'reasoning') thinking += part.text;
    else if (part.type === 'image' && part.source.kind === 'base64') images.push(part.source.data);
    else dropped.push(`${path}: ${part.type} cannot be told to the upstream`);
  }
  return {
    content: words.join('\n'),
    ...(images.length === 0 ? {} : { images }),
    ...(thinking === '' ? {} : { thinking }),
  };
}

const ends: Readonly<Record<string, 'stop' | 'length'>> = { stop: 'stop', length: 'length' };

const errorIn = (status: number | null, body: Item) => ({
  status,
  type: null,
  code: null,
  message: text(body.error) ?? (status === null ? 'the model failed' : `bad response status code ${status}`),
});

function said(body: Item): Said {
  if (text(body.error) !== null) return { error: errorIn(null, body) };
  const message = record(body.message);
  const done = body.done === true;
  const reason = text(body.done_reason);
  const calls = records(message?.tool_calls).map((call) => {
    const told = record(call.function);
    return { id: text(call.id), name: text(told?.name) ?? '', arguments: JSON.stringify(told?.arguments ?? {}) };
  });
  return {
    thought: text(message?.thinking),
    text: text(message?.content),
    calls,
    ...(done ? { usage: usageIn(body), end: lookUp(ends, reason ?? 'stop') ?? 'other', raw: reason } : {}),
  };
}

/** A prompt that was cached may go untold: then nothing of it is believed and all is counted here. */
function usageIn(body: Item) {
  const counts = tokenCounts([body.prompt_eval_count, body.eval_count]);
  if (counts === null || number(body.prompt_eval_count) === null || counts[0] + counts[1] === 0) return null;
  const { prompt_eval_count, eval_count } = body;
  return { ...emptyUsage, input: counts[0], output: counts[1], raw: { prompt_eval_count, eval_count } };
}

const wire = simpleWire({
  encodeRequest,
  frame: said,
  whole: (body) => ({ end: 'stop', ...said(body) }),
  decodeError: errorIn,
});

const embeddings: ForeignForm = {
  encode: (asked, model) => {
    const { dimensions, keep_alive, options, truncate } = asked.body;
    return present({ model, input: textsOf(asked), dimensions, keep_alive, options, truncate });
  },
  decode: (answer, asked) =>
    embeddingList(record(answer)?.embeddings, asked, number(record(answer)?.prompt_eval_count)),
  decodeError: (status, body) => errorIn(status, record(parseJson(body)) ?? {}),
};

export const ollama: Quirk = {
  wireFor: () => wire,
  formFor: (operation) => (operation === 'embeddings' ? embeddings : null),
  framing: (contentType) => (contentType.includes('ndjson') ? ndjsonFraming() : null),
};
