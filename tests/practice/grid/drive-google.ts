/** The @google/genai package. */
import { type Content, type GenerateContentResponse, GoogleGenAI, type Part, ThinkingLevel } from '@google/genai';
import { answerSchema, type Driver, type Got, marks, pixel, type Scenario, toolSchema } from './driver.ts';
import { gatewayUrl } from './world.ts';

const levels: Readonly<Record<string, ThinkingLevel>> = {
  minimal: ThinkingLevel.MINIMAL,
  low: ThinkingLevel.LOW,
  medium: ThinkingLevel.MEDIUM,
  high: ThinkingLevel.HIGH,
};

const configOf = (scenario: Scenario) => ({
  systemInstruction: marks.system,
  ...(scenario.tools
    ? {
        tools: [
          {
            functionDeclarations: [
              { name: marks.tool, description: marks.toolWords, parametersJsonSchema: toolSchema },
            ],
          },
        ],
      }
    : {}),
  ...(scenario.schema ? { responseMimeType: 'application/json', responseJsonSchema: answerSchema } : {}),
  ...(scenario.effort === null
    ? {}
    : {
        thinkingConfig: {
          includeThoughts: true,
          ...(scenario.effort === 'budget' ? { thinkingBudget: 2048 } : { thinkingLevel: levels[scenario.effort] }),
        },
      }),
});

type Usage = GenerateContentResponse['usageMetadata'];

function gotFrom(parts: readonly Part[], usage: Usage): Got {
  return {
    text: parts.map(({ text, thought }) => (thought === true ? '' : (text ?? ''))).join(''),
    thoughts: parts.map(({ text, thought }) => (thought === true ? (text ?? '') : '')).join(''),
    calls: parts.flatMap(({ functionCall }) =>
      functionCall === undefined
        ? []
        : [{ id: functionCall.id ?? null, name: functionCall.name ?? '', args: functionCall.args }],
    ),
    usage:
      usage === undefined
        ? null
        : {
            prompt: usage.promptTokenCount ?? 0,
            output: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
          },
  };
}

export const googleGenerate: Driver = {
  name: 'google',
  protocol: 'gemini-generate',
  efforts: ['minimal', 'low', 'medium', 'high', 'budget'],
  async run(world, model, scenario) {
    const client = new GoogleGenAI({
      apiKey: `sk-${world.key}`,
      httpOptions: { baseUrl: gatewayUrl, fetch: world.fetch },
    });
    const turn = async (contents: Content[]) => {
      const config = configOf(scenario);
      if (!scenario.stream) {
        const answer = await client.models.generateContent({ model, contents, config });
        const parts = answer.candidates?.[0]?.content?.parts ?? [];
        return { parts, got: gotFrom(parts, answer.usageMetadata) };
      }
      const parts: Part[] = [];
      let usage: Usage;
      for await (const chunk of await client.models.generateContentStream({ model, contents, config })) {
        parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
        usage = chunk.usageMetadata ?? usage;
      }
      return { parts, got: gotFrom(parts, usage) };
    };
    const contents: Content[] = [
      {
        role: 'user',
        parts: [
          { text: marks.user },
          ...(scenario.image ? [{ inlineData: { mimeType: 'image/png', data: pixel } }] : []),
        ],
      },
    ];
    const first = await turn(contents);
    if (!scenario.tools || first.got.calls.length === 0) return [first.got];
    contents.push(
      { role: 'model', parts: first.parts },
      {
        role: 'user',
        parts: first.got.calls.map(({ id, name }) => ({
          functionResponse: { ...(id === null ? {} : { id }), name, response: { output: marks.result } },
        })),
      },
    );
    return [first.got, (await turn(contents)).got];
  },
};
