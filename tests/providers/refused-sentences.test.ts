/** Which refusals of a member are true of every user, in the sentences of real servers. */
import { expect, test } from 'vitest';
import { refusedMembers } from '../../server/providers/knowledge/refused-members.ts';

const body = {
  ...{ model: 'gpt-x', temperature: 99, top_p: 0.9, seed: 1, verbosity: 'max', reasoning_effort: 'max' },
  generationConfig: { topK: 5 },
};

function concernsAll(message: string, more: { readonly param?: string; readonly code?: string } = {}) {
  const error = { status: 400, type: 'invalid_request_error', code: null, message, ...more };
  const dialect = message.includes('generation_config') ? 'gemini-generate' : 'openai-chat';
  return refusedMembers(error, { dialect, body, betas: [], model: 'gpt-x' })?.concernsAll;
}

test.each([
  // OpenAI
  ["Unsupported parameter: 'temperature' is not supported with this model.", 'temperature'],
  ["Unsupported value: 'temperature' does not support 99 with this model. Only the default (1) value is supported."],
  ['Unrecognized request argument supplied: seed'],
  ["Unknown parameter: 'verbosity'."],
  ["Unsupported value: 'max' is not supported with the 'gpt-x' model. Supported values are: 'low'.", 'verbosity'],
  // Anthropic and its hosts
  ['temperature: Extra inputs are not permitted'],
  ['`temperature` is deprecated for this model.'],
  // Google
  ['Invalid JSON payload received. Unknown name "topK" at \'generation_config\': Cannot find field.'],
  // xAI, Groq, Fireworks, vLLM
  ['Argument not supported on this model: seed'],
  ["property 'seed' is unsupported"],
  ["Bad request: 'seed' is not supported by this provider"],
  ["当前模型不支持参数 'seed'"],
])('%s: true of all', (message, param?: string) => {
  expect(concernsAll(message, param === undefined ? {} : { param })).toBe(true);
});

test.each([
  ["'seed' is not supported for free users"],
  ["'seed' is not supported for this request"],
  ["'seed' is not supported with 'logprobs'"],
  ["'seed' is temporarily not supported"],
  ["'temperature' is not supported: 99"],
  ['Parameter is not allowed for free users: seed'],
  ["'temperature' must be at most 2"],
  ["免费套餐不支持参数 'seed'"],
])('%s: true of this request, as far as one knows', (message) => {
  expect(concernsAll(message)).toBe(false);
});

test.each(['plan_required', 'user_tier', 'organization_restricted', 'region_unavailable'])(
  'the code %s blames the account, whatever the sentence says',
  (code) => {
    const said = "Unsupported parameter: 'seed' is not supported with this model.";
    expect([concernsAll(said), concernsAll(said, { param: 'seed', code })]).toEqual([true, false]);
  },
);
