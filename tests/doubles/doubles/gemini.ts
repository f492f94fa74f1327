/** Google's Gemini API. */
import { type Double, keyIn } from '../double.ts';
import type { Refusal } from '../rule.ts';
import { generateRules } from '../rules/generate.ts';
import { generateWire } from '../wires/generate.ts';

const states: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
};

export const googleBody = ({ status, message }: Refusal): unknown => ({
  error: { code: status, message, status: states[status] ?? 'INTERNAL' },
});

export const geminiUnknown = (model: string): Refusal | null =>
  /^(?:gemini-\d|gemini-(?:flash|pro)|gemma-)/.test(model)
    ? null
    : {
        status: 404,
        message: `models/${model} is not found for API version v1beta, or is not supported for generateContent.`,
      };

const door = (verb: string, stream: boolean) => ({
  path: `/v1beta/models/{model}:${verb}`,
  wire: generateWire,
  rules: generateRules,
  stream,
  unknown: geminiUnknown,
});

export const gemini: Double = {
  name: 'gemini',
  slug: 'gemini',
  maker: 'google',
  base: '',
  admit: (caller) => {
    const refusal = keyIn('x-goog-api-key')(caller);
    // A wrong key is a bad argument here: https://ai.google.dev/gemini-api/docs/troubleshooting
    return refusal?.status === 401
      ? { status: 400, message: 'API key not valid. Please pass a valid API key.' }
      : refusal;
  },
  doors: [door('generateContent', false), door('streamGenerateContent', true)],
  complain: googleBody,
};
