/** The openai package in both of its dialects. */
import OpenAI from 'openai';
import { answerSchema, type Driver, type Got, marks, parsed, pixelUrl, type Scenario, toolSchema } from './driver.ts';
import { gatewayUrl, type World } from './world.ts';

const clientOf = (world: World) =>
  new OpenAI({ apiKey: `sk-${world.key}`, baseURL: `${gatewayUrl}/v1`, maxRetries: 0, fetch: world.fetch });

interface Thoughtful {
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
}

const chatTool = {
  type: 'function' as const,
  function: { name: marks.tool, description: marks.toolWords, parameters: toolSchema, strict: true },
};

function chatRequest(model: string, scenario: Scenario, messages: OpenAI.ChatCompletionMessageParam[]) {
  return {
    model,
    messages,
    ...(scenario.tools ? { tools: [chatTool] } : {}),
    ...(scenario.schema
      ? {
          response_format: {
            type: 'json_schema' as const,
            json_schema: { name: 'trip', schema: answerSchema, strict: true },
          },
        }
      : {}),
    ...(scenario.effort === null ? {} : { reasoning_effort: scenario.effort as 'low' }),
  };
}

const chatUsage = (usage: OpenAI.CompletionUsage | null | undefined): Got['usage'] =>
  usage == null ? null : { prompt: usage.prompt_tokens, output: usage.completion_tokens };

/** Some upstreams of this dialect say a list of parts, thoughts among them. */
interface SaidPart {
  readonly type: string;
  readonly text?: string;
  readonly thinking?: readonly { readonly text?: string }[];
}
const partsOf = (content: unknown): readonly SaidPart[] => (Array.isArray(content) ? (content as SaidPart[]) : []);
const textIn = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : partsOf(content)
        .map(({ text }) => text ?? '')
        .join('');
const thoughtsIn = (content: unknown): string =>
  partsOf(content)
    .flatMap(({ thinking }) => thinking ?? [])
    .map(({ text }) => text ?? '')
    .join('');

const gotFrom = (
  message: OpenAI.ChatCompletionMessage,
  usage: OpenAI.CompletionUsage | null | undefined,
  thoughts: string,
): Got => ({
  text: textIn(message.content),
  thoughts: thoughts + thoughtsIn(message.content),
  calls: (message.tool_calls ?? []).flatMap((call) =>
    call.type === 'function' ? [{ id: call.id, name: call.function.name, args: parsed(call.function.arguments) }] : [],
  ),
  usage: chatUsage(usage),
});

async function chatTurn(client: OpenAI, scenario: Scenario, request: ReturnType<typeof chatRequest>) {
  if (!scenario.stream) {
    const { choices, usage } = await client.chat.completions.create(request);
    const message = choices[0]?.message;
    if (message === undefined) throw new Error('no message');
    const { reasoning_content, reasoning } = message as Thoughtful;
    return { message, got: gotFrom(message, usage, reasoning_content ?? reasoning ?? '') };
  }
  let thoughts = '';
  const stream = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } });
  stream.on('chunk', (chunk) => {
    const { reasoning_content, reasoning } = (chunk.choices[0]?.delta ?? {}) as Thoughtful;
    thoughts += reasoning_content ?? reasoning ?? '';
  });
  const final = await stream.finalChatCompletion();
  const message = final.choices[0]?.message;
  if (message === undefined) throw new Error('no message');
  return { message, got: gotFrom(message, final.usage, thoughts) };
}

export const openaiChat: Driver = {
  name: 'openai chat',
  protocol: 'openai-chat',
  efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
  async run(world, model, scenario) {
    const client = clientOf(world);
    const content = scenario.image
      ? [
          { type: 'text' as const, text: marks.user },
          { type: 'image_url' as const, image_url: { url: pixelUrl } },
        ]
      : marks.user;
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'system', content: marks.system },
      { role: 'user', content },
    ];
    const first = await chatTurn(client, scenario, chatRequest(model, scenario, messages));
    if (!scenario.tools || first.got.calls.length === 0) return [first.got];
    messages.push(
      { ...sendable(first.message), ...thoughtsOf(first.got.thoughts) } as OpenAI.ChatCompletionMessageParam,
      ...first.got.calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id ?? '', content: marks.result })),
    );
    return [first.got, (await chatTurn(client, scenario, chatRequest(model, scenario, messages))).got];
  },
};

/** The stream helper leaves what it parsed in the message; the wire does not know it. */
const sendable = ({ role, content, tool_calls }: OpenAI.ChatCompletionMessage) => ({
  role,
  content,
  tool_calls: tool_calls?.flatMap((call) =>
    call.type === 'function'
      ? [{ id: call.id, type: call.type, function: { name: call.function.name, arguments: call.function.arguments } }]
      : [],
  ),
});

/** What most agents send back. */
const thoughtsOf = (thoughts: string) => (thoughts === '' ? {} : { reasoning_content: thoughts });

function responsesRequest(model: string, scenario: Scenario, input: OpenAI.Responses.ResponseInput) {
  return {
    model,
    input,
    instructions: marks.system,
    store: false,
    // Nothing is kept at the other end, so thoughts travel sealed.
    include: ['reasoning.encrypted_content' as const],
    ...(scenario.effort === null ? {} : { reasoning: { effort: scenario.effort as 'low', summary: 'auto' as const } }),
    ...(scenario.tools
      ? {
          tools: [
            {
              type: 'function' as const,
              name: marks.tool,
              description: marks.toolWords,
              parameters: toolSchema,
              strict: true,
            },
          ],
        }
      : {}),
    ...(scenario.schema
      ? { text: { format: { type: 'json_schema' as const, name: 'trip', schema: answerSchema, strict: true } } }
      : {}),
  };
}

async function responsesTurn(client: OpenAI, scenario: Scenario, request: ReturnType<typeof responsesRequest>) {
  const response = scenario.stream
    ? await client.responses.stream(request).finalResponse()
    : await client.responses.create(request);
  const got: Got = {
    text: response.output_text,
    thoughts: response.output
      .flatMap((item) => (item.type === 'reasoning' ? item.summary.map(({ text }) => text) : []))
      .join(''),
    calls: response.output.flatMap((item) =>
      item.type === 'function_call' ? [{ id: item.call_id, name: item.name, args: parsed(item.arguments) }] : [],
    ),
    usage:
      response.usage == null ? null : { prompt: response.usage.input_tokens, output: response.usage.output_tokens },
  };
  // The stream helper leaves what it parsed in the items; the wire does not know it.
  const output = response.output.map((item) => {
    const { parsed_arguments, ...rest } = item as typeof item & { parsed_arguments?: unknown };
    if (rest.type !== 'message') return rest;
    return { ...rest, content: rest.content.map((chunk) => withoutParsed(chunk)) };
  });
  return { output: output as OpenAI.Responses.ResponseInput, got };
}

const withoutParsed = (chunk: object): object => {
  const { parsed: _, ...rest } = chunk as { parsed?: unknown };
  return rest;
};

export const openaiResponses: Driver = {
  name: 'openai responses',
  protocol: 'openai-responses',
  efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
  async run(world, model, scenario) {
    const client = clientOf(world);
    const input: OpenAI.Responses.ResponseInput = [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: marks.user },
          ...(scenario.image ? [{ type: 'input_image' as const, image_url: pixelUrl, detail: 'auto' as const }] : []),
        ],
      },
    ];
    const first = await responsesTurn(client, scenario, responsesRequest(model, scenario, input));
    if (!scenario.tools || first.got.calls.length === 0) return [first.got];
    input.push(
      ...first.output,
      ...first.got.calls.map(({ id }) => ({
        type: 'function_call_output' as const,
        call_id: id ?? '',
        output: marks.result,
      })),
    );
    return [first.got, (await responsesTurn(client, scenario, responsesRequest(model, scenario, input))).got];
  },
};
