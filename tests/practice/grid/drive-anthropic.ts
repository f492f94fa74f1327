/** The @anthropic-ai/sdk package. */
import Anthropic from '@anthropic-ai/sdk';
import { answerSchema, type Driver, type Got, marks, pixel, type Scenario, toolSchema } from './driver.ts';
import { gatewayUrl } from './world.ts';

const budget = 4000;

function request(model: string, scenario: Scenario, messages: Anthropic.MessageParam[]) {
  const { effort } = scenario;
  const format = scenario.schema ? { format: { type: 'json_schema' as const, schema: { ...answerSchema } } } : {};
  const word = effort === null || effort === 'budget' ? {} : { effort: effort as 'low' };
  const config = { ...format, ...word };
  return {
    model,
    max_tokens: 8000,
    system: [{ type: 'text' as const, text: marks.system, cache_control: { type: 'ephemeral' as const } }],
    messages,
    ...(scenario.tools
      ? {
          tools: [
            { name: marks.tool, description: marks.toolWords, input_schema: toolSchema as Anthropic.Tool.InputSchema },
          ],
        }
      : {}),
    ...(effort === null
      ? {}
      : {
          thinking:
            effort === 'budget'
              ? { type: 'enabled' as const, budget_tokens: budget }
              : { type: 'adaptive' as const, display: 'summarized' as const },
        }),
    ...(Object.keys(config).length === 0 ? {} : { output_config: config }),
  };
}

const gotFrom = ({ content, usage }: Anthropic.Message): Got => ({
  text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
  thoughts: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
  calls: content.flatMap((block) =>
    block.type === 'tool_use' ? [{ id: block.id, name: block.name, args: block.input }] : [],
  ),
  usage: {
    prompt: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
    output: usage.output_tokens,
  },
});

export const anthropicMessages: Driver = {
  name: 'anthropic',
  protocol: 'anthropic-messages',
  efforts: ['low', 'medium', 'high', 'xhigh', 'max', 'budget'],
  async run(world, model, scenario) {
    const client = new Anthropic({ apiKey: `sk-${world.key}`, baseURL: gatewayUrl, maxRetries: 0, fetch: world.fetch });
    const ask = (messages: Anthropic.MessageParam[]) =>
      scenario.stream
        ? client.messages.stream(request(model, scenario, messages)).finalMessage()
        : client.messages.create(request(model, scenario, messages));
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: pixel };
    const messages: Anthropic.MessageParam[] = [
      {
        role: 'user',
        content: [{ type: 'text', text: marks.user }, ...(scenario.image ? [{ type: 'image' as const, source }] : [])],
      },
    ];
    const first = await ask(messages);
    const got = gotFrom(first);
    if (!scenario.tools || got.calls.length === 0) return [got];
    messages.push(
      { role: 'assistant', content: first.content },
      {
        role: 'user',
        content: got.calls.map(({ id }) => ({
          type: 'tool_result' as const,
          tool_use_id: id ?? '',
          content: marks.result,
        })),
      },
    );
    return [got, gotFrom(await ask(messages))];
  },
};
