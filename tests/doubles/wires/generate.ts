/** generateContent as Google answers it: signatures on calls and at the end of texts, arguments in parts where they are asked for. */
import { type Json, record, records } from '../../../server/protocols/shared/json.ts';
import { type Heard, idWith, type Plan, type SaidCall } from '../plan.ts';
import { data, events, type ReplyContext, type Wire } from '../wire.ts';

type Item = Record<string, unknown>;

/** Google takes both spellings. */
export const either = (value: unknown, camel: string): unknown => {
  const given = record(value);
  return given?.[camel] ?? given?.[camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
};

export const partsOf = (content: Item): readonly Item[] => records(content.parts);
export const levelled = (model: string): boolean => /gemini-[3-9]/.test(model);

function receive(body: Json, stream: boolean, model: string): Heard {
  const config = either(body, 'generationConfig');
  const calling = either(either(body, 'toolConfig'), 'functionCallingConfig');
  const [allowed] = [either(calling, 'allowedFunctionNames')].flat();
  const mode = either(calling, 'mode');
  const last = records(body.contents).at(-1);
  const thinking = either(config, 'thinkingConfig');
  const budget = either(thinking, 'thinkingBudget');
  const json = either(config, 'responseMimeType') === 'application/json';
  return {
    tools: records(body.tools).flatMap((tool) =>
      records(either(tool, 'functionDeclarations')).flatMap((one) =>
        typeof one.name === 'string'
          ? [{ name: one.name, schema: either(one, 'parametersJsonSchema') ?? one.parameters }]
          : [],
      ),
    ),
    choice:
      mode === 'NONE'
        ? 'none'
        : mode === 'ANY'
          ? typeof allowed === 'string'
            ? { name: allowed }
            : 'required'
          : 'auto',
    parallel: true,
    answered: partsOf(last ?? {}).some((part) => either(part, 'functionResponse') !== undefined),
    schema: json ? (either(config, 'responseJsonSchema') ?? either(config, 'responseSchema') ?? null) : undefined,
    thinks: budget !== 0 && /gemini-(?:2\.5|[3-9])/.test(model),
    stream,
    usageFrame: false,
  };
}

const shown = (body: Json): boolean =>
  either(either(either(body, 'generationConfig'), 'thinkingConfig'), 'includeThoughts') === true;

const signs = ({ received }: ReplyContext): boolean => received.thinks;

/** Only the first of several calls is signed. */
function callPart({ id, name, args }: SaidCall, at: number, context: ReplyContext): Item {
  const signature = signs(context) && at === 0 ? { thoughtSignature: context.seals.sign('call', name) } : {};
  return { functionCall: { ...(levelled(context.model) ? { id } : {}), name, args }, ...signature };
}

function partsSaid(plan: Plan, context: ReplyContext): Item[] {
  const thoughts = shown(context.body) ? plan.thoughts.map((text) => ({ text, thought: true })) : [];
  const words = plan.words.map((text) => ({ text }));
  const calls = plan.calls.map((call, at) => callPart(call, at, context));
  // A signature without a call comes with a text of nothing.
  const last =
    signs(context) && calls.length === 0 ? [{ text: '', thoughtSignature: context.seals.sign('text', '') }] : [];
  return [...thoughts, ...words, ...calls, ...last];
}

function answerOf(plan: Plan, context: ReplyContext, parts: readonly Item[], last: boolean): Item {
  const { prompt, cached, output, thought } = plan.usage;
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(last ? { finishReason: 'STOP' } : {}) }],
    usageMetadata: {
      promptTokenCount: prompt,
      cachedContentTokenCount: context.overCached ? prompt + 7 : cached,
      ...(last ? { candidatesTokenCount: output - thought, thoughtsTokenCount: thought } : {}),
      totalTokenCount: last ? prompt + output : prompt,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
    },
    modelVersion: context.model,
    responseId: 'practice',
  };
}

/** Arguments as they come when their stream is asked for. */
function inChunks(part: Item): Item[] {
  const call = record(part.functionCall);
  const args = record(call?.args);
  if (call === null || args === null) return [part];
  const { args: _, ...head } = call;
  const chunks = Object.entries(args).flatMap(([name, value]): Item[] => {
    const jsonPath = `$.${name}`;
    if (typeof value !== 'string') {
      const kind = typeof value === 'boolean' ? 'boolValue' : 'numberValue';
      return [{ partialArgs: [{ jsonPath, [kind]: value }], willContinue: true }];
    }
    const half = Math.ceil(value.length / 2);
    return [
      { partialArgs: [{ jsonPath, stringValue: value.slice(0, half), willContinue: true }], willContinue: true },
      { partialArgs: [{ jsonPath, stringValue: value.slice(half) }], willContinue: true },
    ];
  });
  return [
    { ...part, functionCall: { ...head, willContinue: true } },
    ...chunks.map((functionCall) => ({ functionCall })),
    { functionCall: {} },
  ];
}

function frames(plan: Plan, context: ReplyContext): string[] {
  const calling = either(either(context.body, 'toolConfig'), 'functionCallingConfig');
  const partial = either(calling, 'streamFunctionCallArguments') === true;
  const parts = partsSaid(plan, context).flatMap((part) => (partial ? inChunks(part) : [part]));
  const stream = parts.map((part, at) => data(answerOf(plan, context, [part], at === parts.length - 1)));
  if (!context.breaks) return stream;
  const error = { code: 503, message: 'The model is overloaded, practice', status: 'UNAVAILABLE' };
  return [...stream.slice(0, 2), data({ error })];
}

export const generateWire: Wire = {
  id: 'gemini-generate',
  receive,
  callId: idWith('', 8),
  whole: (plan, context) => answerOf(plan, context, joined(partsSaid(plan, context)), true),
  frames,
  contentType: events,
};

/** A whole answer says its texts in one part each. */
function joined(parts: readonly Item[]): Item[] {
  const whole: Item[] = [];
  for (const part of parts) {
    const last = whole.at(-1);
    const plain = (one: Item) => typeof one.text === 'string' && one.thoughtSignature === undefined;
    if (last !== undefined && plain(last) && plain(part) && last.thought === part.thought)
      whole[whole.length - 1] = { ...last, text: `${last.text}${part.text}` };
    else whole.push(part);
  }
  return whole;
}
