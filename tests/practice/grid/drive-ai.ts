/** The ai package over its own providers, one for each dialect. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import {
  generateText,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  Output,
  type SystemModelMessage,
  streamText,
  tool,
} from 'ai';
import { answerSchema, type Driver, type Got, marks, pixelUrl, type Scenario, toolSchema } from './driver.ts';
import { gatewayUrl, type World } from './world.ts';

type Options = Record<string, Record<string, string | number | boolean | Record<string, string | number | boolean>>>;

interface Flavour {
  readonly name: string;
  readonly protocol: Driver['protocol'];
  readonly efforts: readonly string[];
  model(world: World, model: string): LanguageModel;
  options(effort: string): Options;
}

const openaiOf = (world: World) =>
  createOpenAI({ apiKey: `sk-${world.key}`, baseURL: `${gatewayUrl}/v1`, fetch: world.fetch });
const openaiEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];

const flavours: readonly Flavour[] = [
  {
    name: 'ai openai.chat',
    protocol: 'openai-chat',
    efforts: openaiEfforts,
    model: (world, model) => openaiOf(world).chat(model),
    options: (effort) => ({ openai: { reasoningEffort: effort, forceReasoning: true } }),
  },
  {
    name: 'ai openai.responses',
    protocol: 'openai-responses',
    efforts: openaiEfforts,
    model: (world, model) => openaiOf(world).responses(model),
    options: (effort) => ({
      openai: { reasoningEffort: effort, reasoningSummary: 'auto', forceReasoning: true, store: false },
    }),
  },
  {
    // As it does unless it is told otherwise: what was said before is named, not repeated.
    name: 'ai openai.responses kept',
    protocol: 'openai-responses',
    efforts: ['medium'],
    model: (world, model) => openaiOf(world).responses(model),
    options: (effort) => ({
      openai: { reasoningEffort: effort, reasoningSummary: 'auto', forceReasoning: true },
    }),
  },
  {
    name: 'ai anthropic',
    protocol: 'anthropic-messages',
    efforts: ['low', 'medium', 'high', 'xhigh', 'max', 'budget'],
    model: (world, model) =>
      createAnthropic({ apiKey: `sk-${world.key}`, baseURL: `${gatewayUrl}/v1`, fetch: world.fetch })(model),
    options: (effort): Options =>
      effort === 'budget'
        ? { anthropic: { thinking: { type: 'enabled', budgetTokens: 2000 } } }
        : { anthropic: { thinking: { type: 'adaptive' }, effort } },
  },
  {
    name: 'ai google',
    protocol: 'gemini-generate',
    efforts: ['minimal', 'low', 'medium', 'high', 'budget'],
    model: (world, model) =>
      createGoogleGenerativeAI({ apiKey: `sk-${world.key}`, baseURL: `${gatewayUrl}/v1beta`, fetch: world.fetch })(
        model,
      ),
    options: (effort) => ({
      google: {
        thinkingConfig: {
          includeThoughts: true,
          ...(effort === 'budget' ? { thinkingBudget: 2048 } : { thinkingLevel: effort }),
        },
      },
    }),
  },
];

// Warnings of the package would drown the result.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const tools = {
  [marks.tool]: tool({ description: marks.toolWords, inputSchema: jsonSchema<{ city: string }>(toolSchema) }),
};
const system: SystemModelMessage = { role: 'system', content: marks.system };

interface Turned {
  readonly got: Got;
  readonly messages: readonly ModelMessage[];
}

async function turn(
  flavour: Flavour,
  world: World,
  alias: string,
  scenario: Scenario,
  messages: ModelMessage[],
): Promise<Turned> {
  const ask = {
    model: flavour.model(world, alias),
    maxRetries: 0,
    instructions: system,
    messages,
    ...(scenario.tools ? { tools } : {}),
    ...(scenario.schema ? { output: Output.object({ schema: jsonSchema(answerSchema) }) } : {}),
    ...(scenario.effort === null ? {} : { providerOptions: flavour.options(scenario.effort) }),
    ...(flavour.protocol === 'anthropic-messages' ? { maxOutputTokens: 6000 } : {}),
  };
  const result = scenario.stream ? await streamed(ask) : await generateText(ask);
  return {
    got: {
      text: await result.text,
      thoughts: (await result.reasoningText) ?? '',
      calls: (await result.toolCalls).map(({ toolCallId, toolName, input }) => ({
        id: toolCallId,
        name: toolName,
        args: input,
      })),
      usage: usageOf(await result.usage),
    },
    messages: (await result.response).messages,
  };
}

async function streamed(ask: Parameters<typeof streamText>[0]) {
  let failed: unknown;
  const result = streamText({
    ...ask,
    onError: ({ error }) => {
      failed = error;
    },
  });
  await result.consumeStream();
  if (failed !== undefined) throw failed;
  return result;
}

const usageOf = (usage: { inputTokens?: number | undefined; outputTokens?: number | undefined }): Got['usage'] => ({
  prompt: usage.inputTokens ?? -1,
  output: usage.outputTokens ?? -1,
});

export const aiDrivers: readonly Driver[] = flavours.map((flavour) => ({
  name: flavour.name,
  protocol: flavour.protocol,
  efforts: flavour.efforts,
  async run(world, model, scenario) {
    const messages: ModelMessage[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: marks.user },
          ...(scenario.image ? [{ type: 'file' as const, data: pixelUrl, mediaType: 'image/png' }] : []),
        ],
      },
    ];
    const first = await turn(flavour, world, model, scenario, messages);
    if (!scenario.tools || first.got.calls.length === 0) return [first.got];
    messages.push(...first.messages, {
      role: 'tool',
      content: first.got.calls.map(({ id, name }) => ({
        type: 'tool-result' as const,
        toolCallId: id ?? '',
        toolName: name,
        output: { type: 'text' as const, value: marks.result },
      })),
    });
    return [first.got, (await turn(flavour, world, model, scenario, messages)).got];
  },
}));
