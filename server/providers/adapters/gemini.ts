/** Google's models outside of chat: pictures by Imagen's `predict`, or by the models that draw while they talk. */
import { completionTokensOf, promptTokensOf } from '../../contract/pricing/bucket.ts';
import { geminiGenerate } from '../../protocols/gemini-generate/codec.ts';
import { readAnswerUsage } from '../../protocols/gemini-generate/usage.ts';
import { guardedLookup, number, present, record, records, text } from '../../protocols/shared/json.ts';
import type { Adapter, CustomForm, Requested } from '../adapter.ts';
import { imageError, imageList, promptOf, sizeOf } from '../forms/image-list.ts';

const ratios: readonly (readonly [string, number])[] = [
  ['1:1', 1],
  ['3:4', 3 / 4],
  ['4:3', 4 / 3],
  ['9:16', 9 / 16],
  ['16:9', 16 / 9],
];

/** The shape nearest to the size that was asked for. */
function aspectRatio(requested: Requested): string | undefined {
  const found = text(requested.body.aspect_ratio) ?? text(requested.body.aspectRatio);
  const size = sizeOf(requested);
  if (found !== null || size === null) return found ?? undefined;
  const distance = (ratio: number) => Math.abs(Math.log(size.width / size.height / ratio));
  return ratios.toSorted(([, a], [, b]) => distance(a) - distance(b))[0]?.[0];
}

const mimeTypes: Readonly<Record<string, string>> = { png: 'image/png', jpeg: 'image/jpeg', jpg: 'image/jpeg' };
const { decodeError } = geminiGenerate.upstream;
const refusal = (message: string) => imageError('content_policy_violation', null, message);

const imagen: CustomForm = {
  encode(requested) {
    const { n, image_size, seed, negative_prompt, person_generation, output_format } = requested.body;
    const mimeType = guardedLookup(mimeTypes, text(output_format) ?? '');
    return {
      instances: [{ prompt: promptOf(requested) }],
      parameters: present({
        sampleCount: number(n) ?? 1,
        aspectRatio: aspectRatio(requested),
        sampleImageSize: image_size,
        negativePrompt: negative_prompt,
        personGeneration: person_generation,
        seed,
        outputOptions: mimeType === undefined ? undefined : { mimeType },
      }),
    };
  },
  decode(answer, requested) {
    const predictions = records(record(answer)?.predictions);
    const made = predictions.filter(({ bytesBase64Encoded }) => text(bytesBase64Encoded) !== null);
    // What was filtered out comes with its reason at best, else not at all.
    if (made.length === 0) return refusal(text(predictions[0]?.raiFilteredReason) ?? 'every picture was filtered out');
    const images = made.map(({ bytesBase64Encoded, mimeType, prompt }) => ({
      base64: text(bytesBase64Encoded),
      mimeType: text(mimeType),
      prompt: text(prompt),
    }));
    return imageList(images, requested);
  },
  decodeError,
};

/** Models that answer with pictures when they are allowed to. */
const drawn: CustomForm = {
  path: '/{other}/models/{model}:generateContent',
  encode(requested, _model, dropped) {
    if ((number(requested.body.n) ?? 1) > 1) dropped.push('/n: one picture is made at a time');
    const imageConfig = present({ aspectRatio: aspectRatio(requested), imageSize: requested.body.image_size });
    return {
      contents: [{ role: 'user', parts: [{ text: promptOf(requested) }] }],
      generationConfig: {
        responseModalities: ['TEXT', 'IMAGE'],
        ...(Object.keys(imageConfig).length === 0 ? {} : { imageConfig }),
      },
    };
  },
  decode(answer, requested) {
    const [candidate] = records(record(answer)?.candidates);
    const parts = records(record(candidate?.content)?.parts);
    const images = parts.flatMap(({ inlineData }) => {
      const { data, mimeType } = record(inlineData) ?? {};
      return text(data) === null ? [] : [{ base64: text(data), mimeType: text(mimeType) }];
    });
    if (images.length > 0) return imageList(images, requested, usageIn(answer));
    const content = parts.map((part) => text(part.text) ?? '').join('');
    const blocked = text(record(record(answer)?.promptFeedback)?.blockReason);
    return refusal(content || (blocked ?? text(candidate?.finishReason) ?? 'no picture was made'));
  },
  decodeError,
};

function usageIn(answer: unknown): unknown {
  const usage = readAnswerUsage(answer);
  if (usage === null) return undefined;
  const input = promptTokensOf(usage);
  const output = completionTokensOf(usage);
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { text_tokens: input - usage.imageInput, image_tokens: usage.imageInput },
  };
}

export const imageForm = (model: string): CustomForm => (model.startsWith('imagen') ? imagen : drawn);

export const gemini: Adapter = {
  protocol: ({ operation, model }) => (operation === 'images' ? { form: imageForm(model) } : null),
};
