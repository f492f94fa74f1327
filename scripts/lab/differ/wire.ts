/** Writes what a model says in the wire in which a provider is asked. Own writers, so that no code under test makes both sides of a comparison. */
import type { ModelOutput } from './case.ts';

export interface Written {
  readonly contentType: string;
  /** One whole body, or the frames of a stream in order. */
  readonly frames: readonly string[];
  /** What an error looks like as a frame of this stream; null = it has none. */
  readonly errorFrame: string | null;
}

type Json = Record<string, unknown>;

const created = 1_700_000_000;
const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const named = (value: Json): string => `event: ${String(value.type)}\n${data(value)}`;
const without = (value: Json): Json => Object.fromEntries(Object.entries(value).filter(([, member]) => member != null));
const json = (value: unknown): Written => ({
  contentType: 'application/json',
  frames: [JSON.stringify(value)],
  errorFrame: null,
});
const events = (frames: readonly string[], errorFrame: string): Written => ({
  contentType: 'text/event-stream',
  frames,
  errorFrame,
});
const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

/* ---- OpenAI chat ---- */

const chatFinish = {
  stop: 'stop',
  length: 'length',
  tools: 'tool_calls',
  filtered: 'content_filter',
  'stop word': 'stop',
} as const;
const chatUsage = ({ usage }: ModelOutput) =>
  usage === null
    ? undefined
    : {
        prompt_tokens: usage.prompt + usage.cacheRead,
        completion_tokens: usage.output + usage.reasoning,
        total_tokens: usage.prompt + usage.cacheRead + usage.output + usage.reasoning,
        ...(usage.cacheRead > 0 ? { prompt_tokens_details: { cached_tokens: usage.cacheRead } } : {}),
        ...(usage.reasoning > 0 ? { completion_tokens_details: { reasoning_tokens: usage.reasoning } } : {}),
      };

const chatCalls = ({ calls }: ModelOutput) =>
  calls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));

function chatWhole(modelOutput: ModelOutput): Written {
  return json(
    without({
      id: 'chatcmpl-upstream1',
      object: 'chat.completion',
      created,
      model: modelOutput.model,
      choices: range(modelOutput.choices).map((index) => ({
        index,
        message: without({
          role: 'assistant',
          content: modelOutput.words.join(''),
          reasoning_content: modelOutput.thoughts.length > 0 ? modelOutput.thoughts.join('') : null,
          tool_calls: modelOutput.calls.length > 0 ? chatCalls(modelOutput) : null,
        }),
        finish_reason: chatFinish[modelOutput.finish],
      })),
      usage: chatUsage(modelOutput),
      service_tier: modelOutput.tier,
    }),
  );
}

function chatStream(modelOutput: ModelOutput, includeUsage: boolean): Written {
  const chunk = (choices: readonly Json[], more: Json = {}): string =>
    data({
      id: 'chatcmpl-upstream1',
      object: 'chat.completion.chunk',
      created,
      model: modelOutput.model,
      ...(modelOutput.tier === null ? {} : { service_tier: modelOutput.tier }),
      choices,
      ...more,
    });
  const delta = (index: number, value: Json, finish: string | null = null) =>
    chunk([{ index, delta: value, finish_reason: finish }]);
  const frames: string[] = [];
  for (const index of range(modelOutput.choices)) {
    frames.push(delta(index, { role: 'assistant', content: '' }));
    for (const thought of modelOutput.thoughts) frames.push(delta(index, { reasoning_content: thought }));
    for (const word of modelOutput.words) frames.push(delta(index, { content: word }));
    for (const [at, { id, name, input }] of modelOutput.calls.entries()) {
      const text = JSON.stringify(input);
      const half = text.length >> 1;
      frames.push(
        delta(index, { tool_calls: [{ index: at, id, type: 'function', function: { name, arguments: '' } }] }),
        delta(index, { tool_calls: [{ index: at, function: { arguments: text.slice(0, half) } }] }),
        delta(index, { tool_calls: [{ index: at, function: { arguments: text.slice(half) } }] }),
      );
    }
    frames.push(delta(index, {}, chatFinish[modelOutput.finish]));
  }
  if (includeUsage && modelOutput.usage !== null) frames.push(chunk([], { usage: chatUsage(modelOutput) }));
  frames.push('data: [DONE]\n\n');
  return events(frames, data({ error: { message: 'The model broke', type: 'server_error', code: 'overloaded' } }));
}

/* ---- OpenAI responses ---- */

function responsesItems(modelOutput: ModelOutput): readonly Json[] {
  return [
    ...(modelOutput.thoughts.length > 0
      ? [{ id: 'rs_up1', type: 'reasoning', summary: [{ type: 'summary_text', text: modelOutput.thoughts.join('') }] }]
      : []),
    ...(modelOutput.words.length > 0
      ? [
          {
            id: 'msg_up1',
            type: 'message',
            status: 'completed',
            role: 'assistant',
            content: [{ type: 'output_text', text: modelOutput.words.join(''), annotations: [] }],
          },
        ]
      : []),
    ...modelOutput.calls.map(({ id, name, input }) => ({
      id: `fc_${id}`,
      type: 'function_call',
      status: 'completed',
      call_id: id,
      name,
      arguments: JSON.stringify(input),
    })),
  ];
}

function responsesObject(modelOutput: ModelOutput): Json {
  const { usage } = modelOutput;
  const cut = modelOutput.finish === 'length' || modelOutput.finish === 'filtered';
  return without({
    id: 'resp_up1',
    object: 'response',
    created_at: created,
    status: cut ? 'incomplete' : 'completed',
    incomplete_details: cut
      ? { reason: modelOutput.finish === 'length' ? 'max_output_tokens' : 'content_filter' }
      : null,
    model: modelOutput.model,
    service_tier: modelOutput.tier,
    output: responsesItems(modelOutput),
    usage:
      usage === null
        ? null
        : {
            input_tokens: usage.prompt + usage.cacheRead,
            input_tokens_details: { cached_tokens: usage.cacheRead },
            output_tokens: usage.output + usage.reasoning,
            output_tokens_details: { reasoning_tokens: usage.reasoning },
            total_tokens: usage.prompt + usage.cacheRead + usage.output + usage.reasoning,
          },
  });
}

function responsesStream(modelOutput: ModelOutput): Written {
  let sequence = 0;
  const event = (type: string, more: Json): string => named({ type, sequence_number: sequence++, ...more });
  const whole = responsesObject(modelOutput);
  const started = { ...whole, status: 'in_progress', output: [], usage: null };
  const frames = [
    event('response.created', { response: started }),
    event('response.in_progress', { response: started }),
  ];
  for (const [output_index, item] of responsesItems(modelOutput).entries()) {
    const item_id = item.id;
    const place = { item_id, output_index };
    if (item.type === 'message') {
      const content_index = 0;
      const part = { type: 'output_text', text: '', annotations: [] };
      frames.push(
        event('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', content: [] } }),
        event('response.content_part.added', { ...place, content_index, part }),
        ...modelOutput.words.map((delta) => event('response.output_text.delta', { ...place, content_index, delta })),
        event('response.output_text.done', { ...place, content_index, text: modelOutput.words.join('') }),
        event('response.content_part.done', {
          ...place,
          content_index,
          part: { ...part, text: modelOutput.words.join('') },
        }),
      );
    } else if (item.type === 'reasoning') {
      const summary_index = 0;
      frames.push(
        event('response.output_item.added', { output_index, item: { ...item, summary: [] } }),
        event('response.reasoning_summary_part.added', {
          ...place,
          summary_index,
          part: { type: 'summary_text', text: '' },
        }),
        ...modelOutput.thoughts.map((delta) =>
          event('response.reasoning_summary_text.delta', { ...place, summary_index, delta }),
        ),
        event('response.reasoning_summary_text.done', { ...place, summary_index, text: modelOutput.thoughts.join('') }),
      );
    } else
      frames.push(
        event('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', arguments: '' } }),
        event('response.function_call_arguments.delta', { ...place, delta: item.arguments }),
        event('response.function_call_arguments.done', { ...place, arguments: item.arguments }),
      );
    frames.push(event('response.output_item.done', { output_index, item }));
  }
  const last = whole.status === 'completed' ? 'response.completed' : 'response.incomplete';
  frames.push(event(last, { response: whole }));
  return events(
    frames,
    named({ type: 'error', code: 'server_error', message: 'The model broke', param: null, sequence_number: 99 }),
  );
}

/* ---- Anthropic messages ---- */

const messagesFinish = {
  stop: 'end_turn',
  length: 'max_tokens',
  tools: 'tool_use',
  filtered: 'refusal',
  'stop word': 'stop_sequence',
} as const;
const messagesUsage = ({ usage }: ModelOutput): Json =>
  usage === null
    ? { input_tokens: 0, output_tokens: 0 }
    : {
        input_tokens: usage.prompt,
        cache_creation_input_tokens: usage.cacheWrite,
        cache_read_input_tokens: usage.cacheRead,
        output_tokens: usage.output + usage.reasoning,
      };
const messagesBlocks = (modelOutput: ModelOutput): readonly Json[] => [
  ...(modelOutput.thoughts.length > 0
    ? [{ type: 'thinking', thinking: modelOutput.thoughts.join(''), signature: 'c2lnbmF0dXJl' }]
    : []),
  ...(modelOutput.words.length > 0 ? [{ type: 'text', text: modelOutput.words.join('') }] : []),
  ...modelOutput.calls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })),
];

const messagesWhole = (modelOutput: ModelOutput): Json => ({
  id: 'msg_up1',
  type: 'message',
  role: 'assistant',
  model: modelOutput.model,
  content: messagesBlocks(modelOutput),
  stop_reason: messagesFinish[modelOutput.finish],
  stop_sequence: modelOutput.finish === 'stop word' ? 'END' : null,
  usage: { ...messagesUsage(modelOutput), ...(modelOutput.tier === null ? {} : { service_tier: modelOutput.tier }) },
});

function messagesEvents(modelOutput: ModelOutput): readonly Json[] {
  const list: Json[] = [
    {
      type: 'message_start',
      message: {
        ...messagesWhole(modelOutput),
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...messagesUsage(modelOutput), output_tokens: 1 },
      },
    },
  ];
  for (const [index, block] of messagesBlocks(modelOutput).entries()) {
    const delta = (value: Json): Json => ({ type: 'content_block_delta', index, delta: value });
    if (block.type === 'thinking')
      list.push(
        { type: 'content_block_start', index, content_block: { type: 'thinking', thinking: '', signature: '' } },
        ...modelOutput.thoughts.map((thinking) => delta({ type: 'thinking_delta', thinking })),
        delta({ type: 'signature_delta', signature: 'c2lnbmF0dXJl' }),
      );
    else if (block.type === 'text')
      list.push(
        { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
        ...modelOutput.words.map((text) => delta({ type: 'text_delta', text })),
      );
    else
      list.push(
        { type: 'content_block_start', index, content_block: { ...block, input: {} } },
        delta({ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }),
      );
    list.push({ type: 'content_block_stop', index });
  }
  return [
    ...list,
    {
      type: 'message_delta',
      delta: {
        stop_reason: messagesFinish[modelOutput.finish],
        stop_sequence: modelOutput.finish === 'stop word' ? 'END' : null,
      },
      usage: messagesUsage(modelOutput),
    },
    { type: 'message_stop' },
  ];
}

/* ---- Gemini ---- */

const geminiFinish = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tools: 'STOP',
  filtered: 'SAFETY',
  'stop word': 'STOP',
} as const;
const geminiUsage = ({ usage }: ModelOutput): Json =>
  usage === null
    ? {}
    : {
        usageMetadata: without({
          promptTokenCount: usage.prompt + usage.cacheRead,
          cachedContentTokenCount: usage.cacheRead > 0 ? usage.cacheRead : null,
          candidatesTokenCount: usage.output,
          thoughtsTokenCount: usage.reasoning > 0 ? usage.reasoning : null,
          totalTokenCount: usage.prompt + usage.cacheRead + usage.output + usage.reasoning,
        }),
      };

function geminiObjects(modelOutput: ModelOutput, streamed: boolean): readonly Json[] {
  const thoughts = modelOutput.thoughts.map((text) => ({ text, thought: true }));
  const words = modelOutput.words.map((text) => ({ text }));
  const calls = modelOutput.calls.map(({ name, input }) => ({ functionCall: { name, args: input } }));
  const answer = (index: number, parts: readonly Json[], last: boolean): Json => ({
    candidates: [
      {
        content: { parts, role: 'model' },
        ...(last ? { finishReason: geminiFinish[modelOutput.finish] } : {}),
        index,
      },
    ],
    modelVersion: modelOutput.model,
    responseId: 'upstream1',
    ...(last ? geminiUsage(modelOutput) : {}),
  });
  const parts = [...thoughts, ...words, ...calls];
  if (!streamed)
    return [
      {
        ...answer(0, parts, true),
        candidates: range(modelOutput.choices).map((index) => ({
          content: { parts, role: 'model' },
          finishReason: geminiFinish[modelOutput.finish],
          index,
        })),
      },
    ];
  return parts.length === 0
    ? [answer(0, [], true)]
    : parts.map((part, at) => answer(0, [part], at === parts.length - 1));
}

/* ---- Cohere and Ollama ---- */

const cohereFinish = {
  stop: 'COMPLETE',
  length: 'MAX_TOKENS',
  tools: 'TOOL_CALL',
  filtered: 'ERROR',
  'stop word': 'STOP_SEQUENCE',
};
const cohereUsage = ({ usage }: ModelOutput): Json =>
  usage === null
    ? {}
    : {
        usage: {
          billed_units: { input_tokens: usage.prompt, output_tokens: usage.output },
          tokens: { input_tokens: usage.prompt, output_tokens: usage.output + usage.reasoning },
        },
      };

function cohere(modelOutput: ModelOutput, streamed: boolean): Written {
  const finish_reason = cohereFinish[modelOutput.finish];
  if (!streamed)
    return json({
      id: 'upstream1',
      finish_reason,
      message: without({
        role: 'assistant',
        content: [
          ...(modelOutput.thoughts.length > 0 ? [{ type: 'thinking', thinking: modelOutput.thoughts.join('') }] : []),
          ...(modelOutput.words.length > 0 ? [{ type: 'text', text: modelOutput.words.join('') }] : []),
        ],
        tool_calls: modelOutput.calls.length > 0 ? chatCalls(modelOutput) : null,
      }),
      ...cohereUsage(modelOutput),
    });
  const frames = [
    named({ type: 'message-start', id: 'upstream1', delta: { message: { role: 'assistant', content: [] } } }),
  ];
  const block = (index: number, kind: 'text' | 'thinking', texts: readonly string[]) => {
    if (texts.length === 0) return;
    const content = (value: Json) => ({ message: { content: value } });
    frames.push(
      named({ type: 'content-start', index, delta: content({ type: kind, [kind]: '' }) }),
      ...texts.map((text) => named({ type: 'content-delta', index, delta: content({ [kind]: text }) })),
      named({ type: 'content-end', index }),
    );
  };
  block(0, 'thinking', modelOutput.thoughts);
  block(modelOutput.thoughts.length > 0 ? 1 : 0, 'text', modelOutput.words);
  for (const [index, call] of chatCalls(modelOutput).entries()) {
    const tool = (value: Json) => ({ message: { tool_calls: value } });
    frames.push(
      named({
        type: 'tool-call-start',
        index,
        delta: tool({ ...call, function: { name: call.function.name, arguments: '' } }),
      }),
      named({ type: 'tool-call-delta', index, delta: tool({ function: { arguments: call.function.arguments } }) }),
      named({ type: 'tool-call-end', index }),
    );
  }
  frames.push(named({ type: 'message-end', id: 'upstream1', delta: { finish_reason, ...cohereUsage(modelOutput) } }));
  return events(
    frames,
    named({ type: 'message-end', delta: { finish_reason: 'ERROR', error: 'The model broke', usage: null } }),
  );
}

function ollama(modelOutput: ModelOutput, streamed: boolean): Written {
  const base = { model: modelOutput.model, created_at: '2025-01-01T00:00:00.000Z' };
  const calls = modelOutput.calls.map(({ name, input }) => ({ function: { name, arguments: input } }));
  const counts =
    modelOutput.usage === null
      ? {}
      : {
          prompt_eval_count: modelOutput.usage.prompt + modelOutput.usage.cacheRead,
          eval_count: modelOutput.usage.output + modelOutput.usage.reasoning,
        };
  const end = {
    done: true,
    done_reason: modelOutput.finish === 'length' ? 'length' : 'stop',
    total_duration: 5,
    ...counts,
  };
  const message = (content: string, more: Json = {}) => ({ role: 'assistant', content, ...more });
  if (!streamed)
    return json({
      ...base,
      message: message(modelOutput.words.join(''), {
        ...(modelOutput.thoughts.length > 0 ? { thinking: modelOutput.thoughts.join('') } : {}),
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      }),
      ...end,
    });
  const lines = [
    ...modelOutput.thoughts.map((thinking) => ({ ...base, message: message('', { thinking }), done: false })),
    ...modelOutput.words.map((word) => ({ ...base, message: message(word), done: false })),
    ...(calls.length > 0 ? [{ ...base, message: message('', { tool_calls: calls }), done: false }] : []),
    { ...base, message: message(''), ...end },
  ];
  return {
    contentType: 'application/x-ndjson',
    frames: lines.map((line) => `${JSON.stringify(line)}\n`),
    errorFrame: '{"error":"The model broke"}\n',
  };
}

/* ---- everything else ---- */

const flatUsage = ({ usage }: ModelOutput): Json =>
  usage === null
    ? {}
    : {
        usage: {
          prompt_tokens: usage.prompt,
          completion_tokens: usage.output,
          total_tokens: usage.prompt + usage.output,
        },
      };

function completions(modelOutput: ModelOutput, streamed: boolean, includeUsage: boolean): Written {
  const base = { id: 'cmpl-upstream1', object: 'text_completion', created, model: modelOutput.model };
  const finish_reason = modelOutput.finish === 'length' ? 'length' : 'stop';
  if (!streamed)
    return json({
      ...base,
      choices: range(modelOutput.choices).map((index) => ({
        index,
        text: modelOutput.words.join(''),
        finish_reason,
        logprobs: null,
      })),
      ...flatUsage(modelOutput),
    });
  return events(
    [
      ...modelOutput.words.map((text) => data({ ...base, choices: [{ index: 0, text, finish_reason: null }] })),
      data({ ...base, choices: [{ index: 0, text: '', finish_reason }] }),
      ...(includeUsage && modelOutput.usage !== null
        ? [data({ ...base, choices: [], ...flatUsage(modelOutput) })]
        : []),
      'data: [DONE]\n\n',
    ],
    data({ error: { message: 'The model broke', type: 'server_error' } }),
  );
}

const binary = 'RIFF0000WAVEfmt sound of the upstream';

/** The dialect in which a path asks; null = no chat. */
export function dialectOf(path: string): string | null {
  if (/\/chat\/completions/.test(path)) return 'openai-chat';
  if (/\/responses/.test(path)) return 'openai-responses';
  if (/\/messages(?:\?|$)|rawPredict|RawPredict|\/invoke(?:-with|$)/.test(path)) return 'anthropic-messages';
  if (/[gG]enerateContent/.test(path)) return 'gemini-generate';
  if (/\/v2\/chat(?:\?|$)/.test(path)) return 'cohere-chat';
  return /\/api\/chat(?:\?|$)/.test(path) ? 'ollama-chat' : null;
}

/** Whether a request wants a stream. */
export const isStreamed = (path: string, body: string): boolean =>
  /stream(?:Generate|Raw)|with-response-stream/.test(path) || /"stream"\s*:\s*true/.test(body);

/** @param path and body as the upstream received them. */
export function writeReply(modelOutput: ModelOutput, path: string, body: string): Written {
  const streamed = isStreamed(path, body);
  const includeUsage = /"include_usage"\s*:\s*true/.test(body);
  switch (dialectOf(path)) {
    case 'openai-chat':
      return streamed ? chatStream(modelOutput, includeUsage) : chatWhole(modelOutput);
    case 'openai-responses':
      if (/input_tokens/.test(path)) return json({ object: 'response.input_tokens', input_tokens: 17 });
      return streamed ? responsesStream(modelOutput) : json(responsesObject(modelOutput));
    case 'anthropic-messages':
      return streamed
        ? events(
            messagesEvents(modelOutput).map(named),
            named({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
          )
        : json(messagesWhole(modelOutput));
    case 'gemini-generate':
      return streamed
        ? events(
            geminiObjects(modelOutput, true).map(data),
            data({ error: { code: 503, message: 'The model broke', status: 'UNAVAILABLE' } }),
          )
        : json(geminiObjects(modelOutput, false)[0]);
    case 'cohere-chat':
      return cohere(modelOutput, streamed);
    case 'ollama-chat':
      return ollama(modelOutput, streamed);
    case null:
      break;
  }
  const { usage } = modelOutput;
  if (/embed/i.test(path)) {
    if (/:batchEmbed/.test(path)) return json({ embeddings: [{ values: [0.1, -0.2] }] });
    if (/:embed/.test(path)) return json({ embedding: { values: [0.1, -0.2] } });
    if (/\/api\/embed/.test(path))
      return json({ model: modelOutput.model, embeddings: [[0.1, -0.2]], prompt_eval_count: 5 });
    return json({
      object: 'list',
      model: modelOutput.model,
      data: [{ object: 'embedding', index: 0, embedding: [0.1, -0.2] }],
      ...(usage === null ? {} : { usage: { prompt_tokens: usage.prompt, total_tokens: usage.prompt } }),
    });
  }
  if (/count_tokens|countTokens/.test(path)) return json({ input_tokens: 17, totalTokens: 17 });
  if (/rerank/.test(path))
    return json({
      id: 'r1',
      results: [{ index: 0, relevance_score: 0.9 }],
      usage: { total_tokens: usage?.prompt ?? 3 },
    });
  if (/moderations/.test(path)) return json({ id: 'modr-1', model: modelOutput.model, results: [{ flagged: false }] });
  if (/images/.test(path))
    return json({
      created,
      data: range(modelOutput.choices).map(() => ({ url: 'https://pictures.example/1.png' })),
      ...(usage === null
        ? {}
        : {
            usage: {
              input_tokens: usage.prompt,
              output_tokens: usage.output,
              total_tokens: usage.prompt + usage.output,
            },
          }),
    });
  if (/speech/.test(path)) return { contentType: 'audio/wav', frames: [binary], errorFrame: null };
  if (/transcriptions|translations/.test(path))
    return json({ text: modelOutput.words.join(''), duration: 3.2, language: 'en' });
  if (/\/mj\//.test(path)) return json({ code: 1, description: 'ok', result: 'mj-upstream1' });
  if (/\/suno\//.test(path)) return json({ code: 'success', message: '', data: 'song-upstream1' });
  return completions(modelOutput, streamed, includeUsage);
}
