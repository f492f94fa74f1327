/** Rows of LiteLLM's model list: where their requests go, with what key, at what price. */
import { describe, expect, test } from 'vitest';
import type { Prices } from '../../server/contract/pricing/price.ts';
import {
  completed,
  dearestPrice,
  isPriceMember,
  listedPrice,
  type Price,
  priceEntries,
  statedPrice,
} from '../../server/domain/import/litellm-price.ts';
import { azureUrl } from '../../server/providers/adapters/azure.ts';
import { providerByType } from '../../server/providers/catalogue.ts';
import { litellmProvider } from '../../server/providers/litellm.ts';
import { placeOf } from '../../server/providers/litellm-place.ts';
import { endpointFor } from '../../server/providers/provider.ts';

type Row = Record<string, unknown>;
const key = 'sk-canary';

/** `slug url`, or why not. */
function goesTo(row: Row, env: Record<string, string> = {}, info: Row = {}): string {
  const place = placeOf({ api_key: key, ...row }, info, env);
  if ('rejected' in place) return place.rejected.en;
  const provider = providerByType(place.type);
  if (provider === undefined) return 'no provider';
  const { base: baseUrl, upstream: model, other } = place;
  const operation =
    ['chat', 'messages', 'generate', 'embeddings'].find((name) => provider.operations.includes(name)) ?? '';
  const url =
    provider.slug === 'azure'
      ? azureUrl('chat', baseUrl, model, other)
      : endpointFor(provider, operation, { baseUrl, model, other });
  return `${provider.slug} ${url} ${model}`;
}

describe('a key goes to no provider that the row does not name', () => {
  test.each([
    ['claude-3-5-sonnet-20241022', 'anthropic https://api.anthropic.com/v1/messages claude-3-5-sonnet-20241022'],
    ['claude-newfamily-9', 'anthropic https://api.anthropic.com/v1/messages claude-newfamily-9'],
    ['command-r-plus', 'cohere https://api.cohere.ai/v2/chat command-r-plus'],
    ['gpt-4o', 'openai https://api.openai.com/v1/chat/completions gpt-4o'],
    ['gpt-4-all-mine', 'it names no provider: write provider/model, or custom_llm_provider'],
    ['deepseek-chat', 'it names no provider: write provider/model, or custom_llm_provider'],
    ['my-model', 'it names no provider: write provider/model, or custom_llm_provider'],
    ['gemini-1.5-pro', "it needs a service account's JSON itself, not the path of a file"],
    ['meta-llama/Llama-3-70b', 'meta-llama is not served'],
    ['tencent/hunyuan', 'tencent is not served'],
    ['custom/mine', 'custom is not served'],
    ['constructor/mine', 'constructor is not served'],
  ])('%s without a provider', (model, expected) => expect(goesTo({ model })).toBe(expected));

  test('custom_llm_provider is the provider, then the prefix, then what the model list says of it', () => {
    const chat = 'deepseek https://api.deepseek.com/v1/chat/completions';
    expect(goesTo({ model: 'deepseek-chat', custom_llm_provider: 'deepseek' })).toBe(`${chat} deepseek-chat`);
    expect(goesTo({ model: 'deepseek/deepseek-chat', custom_llm_provider: 'deepseek' })).toBe(`${chat} deepseek-chat`);
    expect(goesTo({ model: 'gpt-4o', custom_llm_provider: 'deepseek' })).toBe(`${chat} gpt-4o`);
    expect(goesTo({ model: 'mine', custom_llm_provider: 'nobody' })).toBe('nobody is not served');
    expect(goesTo({ model: 'mine' }, {}, { litellm_provider: 'deepseek' })).toBe(`${chat} mine`);
    expect(goesTo({ model: 'groq/mine' }, {}, { litellm_provider: 'deepseek' })).toMatch(/^groq /);
  });

  test('a name without a provider goes to the host that the address is of', () => {
    expect(goesTo({ model: 'meta-llama/x', api_base: 'https://api.groq.com/openai/v1' })).toBe(
      'groq https://api.groq.com/openai/v1/chat/completions meta-llama/x',
    );
    expect(goesTo({ model: 'meta-llama/x', api_base: 'https://api.groq.com.evil.test/openai/v1' })).toBe(
      'meta-llama is not served',
    );
  });

  test('a key of the Gemini API says that a bare name is meant for it', () => {
    expect(goesTo({ model: 'gemini-1.5-pro', api_key: 'AIzaSy' })).toMatch(/^gemini https:\/\/generativelanguage/);
  });

  test('a key that begins like another provider’s is not sent to the named one’s own host', () => {
    expect(goesTo({ model: 'openai/gpt-4o', api_key: 'sk-ant-api03-x' })).toBe(
      'its key begins like those of Anthropic Claude, and is not sent to openai',
    );
    expect(goesTo({ model: 'anthropic/claude-3', api_key: 'sk-ant-api03-x' })).toMatch(/^anthropic /);
    expect(goesTo({ model: 'openai/claude', api_key: 'sk-ant-x', api_base: 'https://api.anthropic.com/v1' })).toMatch(
      /^openai https:\/\/api\.anthropic\.com\/v1\/chat\/completions/,
    );
  });

  test('an address or a key in a variable that is not set makes no channel, and the variable is named', () => {
    expect(goesTo({ model: 'openai/x', api_base: 'os.environ/LOCAL' })).toBe('its address is not known: set LOCAL');
    expect(goesTo({ model: 'openai/x', base_url: 'os.environ/LOCAL' })).toBe('its address is not known: set LOCAL');
    expect(goesTo({ model: 'openai/x', api_key: 'os.environ/MINE' }, { OPENAI_API_KEY: 'k' })).toBe(
      'its key is not known: set MINE',
    );
    expect(goesTo({ model: 'os.environ/MODEL' })).toBe('its model is not known: set MODEL');
    expect(goesTo({ model: 'os.environ/MODEL' }, { MODEL: 'groq/llama' })).toMatch(/^groq /);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as people write it for a shell.
    expect(goesTo({ model: 'openai/x', api_key: '${OPENAI_API_KEY}' })).toMatch(/is a reference/);
    expect(goesTo({ model: 'ollama/x', api_key: 'os.environ/MINE' })).toBe('its key is not known: set MINE');
  });

  test('a row that answers with a fixed text reaches nobody', () =>
    expect(goesTo({ model: 'openai/x', mock_response: 'hello' })).toMatch(/fixed text/));
});

describe('keys and addresses of the environment, as LiteLLM looks them up', () => {
  const keyOf = (row: Row, env: Record<string, string>) => {
    const place = placeOf(row, {}, env);
    return 'rejected' in place ? place.rejected.en : `${place.key} ${place.base} ${place.other}`;
  };
  test.each([
    [{ model: 'openai/gpt-4o' }, { OPENAI_API_KEY: 'k' }, 'k  '],
    [{ model: 'openai/gpt-4o' }, {}, 'its key is not known: set OPENAI_API_KEY'],
    [
      { model: 'openai/gpt-4o', api_base: 'http://api.openai.com/v1' },
      { OPENAI_API_KEY: 'k' },
      "it names no key, and the one in the environment is openai's, not for http://api.openai.com: write api_key",
    ],
    [
      { model: 'bedrock/a', aws_bedrock_runtime_endpoint: 'https://amazonaws.com.evil.test' },
      { AWS_BEARER_TOKEN_BEDROCK: 'k', AWS_REGION: 'us-east-1' },
      'it names no key, and the one in the environment is for AWS, not for amazonaws.com.evil.test: write api_key',
    ],
    [
      { model: 'bedrock/a', aws_bedrock_runtime_endpoint: 'https://x.vpce.amazonaws.com' },
      { AWS_BEARER_TOKEN_BEDROCK: 'k', AWS_REGION: 'us-gov-west-1' },
      'k|us-gov-west-1 https://x.vpce.amazonaws.com ',
    ],
    [
      { model: 'bedrock/a', aws_region_name: 'evil.test/x?' },
      { AWS_BEARER_TOKEN_BEDROCK: 'k' },
      'evil.test/x? is no region of AWS',
    ],
    [{ model: 'anthropic/claude-3' }, { ANTHROPIC_API_KEY: 'k' }, 'k  '],
    [{ model: 'together_ai/x/y' }, { TOGETHERAI_API_KEY: 'k' }, 'k  '],
    [
      { model: 'azure/d' },
      { AZURE_API_KEY: 'k', AZURE_API_BASE: 'https://a.test/', AZURE_API_VERSION: '2025' },
      'k https://a.test 2025',
    ],
    [{ model: 'azure/d' }, { AZURE_API_KEY: 'k' }, 'its address is not known: set api_base / AZURE_API_BASE'],
    [{ model: 'openai/x' }, { OPENAI_API_KEY: 'k', OPENAI_API_BASE: 'http://127.0.0.1:9/v1' }, 'k http://127.0.0.1:9 '],
    [{ model: 'ollama/x' }, {}, 'none  '],
    [{ model: 'ollama/x' }, { OLLAMA_API_KEY: 'k', OLLAMA_API_BASE: 'http://o.test' }, 'k http://o.test '],
    [{ model: 'cloudflare/@cf/x' }, { CLOUDFLARE_API_KEY: 'k', CLOUDFLARE_ACCOUNT_ID: 'acc' }, 'k  acc'],
    [{ model: 'cloudflare/@cf/x' }, { CLOUDFLARE_API_KEY: 'k' }, 'its account is not known: set CLOUDFLARE_ACCOUNT_ID'],
    [
      { model: 'bedrock/eu-west-1/anthropic.claude-v2' },
      { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 's' },
      'a|s|eu-west-1  ',
    ],
    [{ model: 'bedrock/x' }, { AWS_BEARER_TOKEN_BEDROCK: 't', AWS_REGION_NAME: 'us-east-1' }, 't|us-east-1  '],
    [
      { model: 'bedrock/x' },
      { AWS_ACCESS_KEY_ID: 'a', AWS_REGION: 'us-east-1' },
      'its AWS keys or region are not known: roles of machines are not read here',
    ],
  ])('%j with %j', (row, env, expected) => expect(keyOf(row, env as Record<string, string>)).toBe(expected));

  test('the key in the environment belongs to its provider and follows no address of a row', () => {
    const env = { OPENAI_API_KEY: 'k' };
    expect(keyOf({ model: 'openai/x', api_base: 'http://local.test/v1' }, env)).toMatch(
      /^it names no key, and the one in/,
    );
    expect(keyOf({ model: 'openai/x', api_base: 'http://local.test/v1', api_key: 'own' }, env)).toBe(
      'own http://local.test ',
    );
    expect(keyOf({ model: 'openai/x', api_base: 'https://api.openai.com/v1' }, env)).toBe('k  ');
    expect(keyOf({ model: 'azure/x', api_base: 'https://a.openai.azure.com' }, { AZURE_API_KEY: 'k' })).toBe(
      'k https://a.openai.azure.com ',
    );
  });
});

describe('a base address is joined as LiteLLM joins it', () => {
  test.each([
    [
      'openai/m',
      'https://open.bigmodel.cn/api/paas/v4',
      'custom https://open.bigmodel.cn/api/paas/v4/chat/completions m',
    ],
    [
      'openai/m',
      'https://ark.cn-beijing.volces.com/api/v3/',
      'custom https://ark.cn-beijing.volces.com/api/v3/chat/completions m',
    ],
    [
      'openai/m',
      'https://generativelanguage.googleapis.com/v1beta/openai/',
      'custom https://generativelanguage.googleapis.com/v1beta/openai/chat/completions m',
    ],
    ['openai/m', 'http://127.0.0.1:8000/v1', 'openai http://127.0.0.1:8000/v1/chat/completions m'],
    ['openai/m', 'http://127.0.0.1:8000', 'custom http://127.0.0.1:8000/chat/completions m'],
    ['openai/m', 'http://127.0.0.1:8000/v1/chat/completions', 'openai http://127.0.0.1:8000/v1/chat/completions m'],
    ['hosted_vllm/org/m', 'http://h:8000/v1', 'vllm http://h:8000/v1/chat/completions org/m'],
    [
      'volcengine/m',
      'https://ark.cn-beijing.volces.com/api/v3',
      'volcengine https://ark.cn-beijing.volces.com/api/v3/chat/completions m',
    ],
    [
      'volcengine/m',
      'https://ark.cn-beijing.volces.com/api/coding/v3',
      'volcengine https://ark.cn-beijing.volces.com/api/coding/v3/chat/completions m',
    ],
    ['zai/glm-4.6', '', 'zhipu-v4 https://api.z.ai/api/paas/v4/chat/completions glm-4.6'],
    ['moonshot/kimi-k2', '', 'moonshot https://api.moonshot.ai/v1/chat/completions kimi-k2'],
    [
      'dashscope/qwen-max',
      'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
      'ali https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions qwen-max',
    ],
    ['minimax/MiniMax-M2', '', 'custom https://api.minimax.io/v1/chat/completions MiniMax-M2'],
    ['mistral/m', 'https://mistral.test', 'mistral https://mistral.test/v1/chat/completions m'],
    ['deepseek/m', 'https://api.deepseek.com', 'deepseek https://api.deepseek.com/v1/chat/completions m'],
    ['github/Llama-3', '', 'custom https://models.inference.ai.azure.com/chat/completions Llama-3'],
    ['deepinfra/org/m', '', 'custom https://api.deepinfra.com/v1/openai/chat/completions org/m'],
    [
      'fireworks_ai/llama',
      '',
      'fireworks https://api.fireworks.ai/inference/v1/chat/completions accounts/fireworks/models/llama',
    ],
    ['anthropic/claude-3', 'https://proxy.test/v1/messages', 'anthropic https://proxy.test/v1/messages claude-3'],
    [
      'gemini/gemini-2.5-pro',
      'https://proxy.test/v1beta',
      'gemini https://proxy.test/v1beta/models/gemini-2.5-pro:generateContent gemini-2.5-pro',
    ],
    [
      'gemini/gemini-2.5-pro',
      'https://proxy.test/google',
      'nothing here sends its requests to an address like https://proxy.test/google',
    ],
    ['cohere/command-r', 'https://proxy.test/v2/chat', 'cohere https://proxy.test/v2/chat command-r'],
    ['cohere/command-r', 'https://proxy.test', 'nothing here sends its requests to an address like https://proxy.test'],
    ['ollama_chat/m', 'http://o:11434/api/chat', 'ollama http://o:11434/api/chat m'],
    [
      'azure/d',
      'https://a.openai.azure.com',
      'azure https://a.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-12-01-preview d',
    ],
    [
      'azure/o_series/d',
      'https://a.openai.azure.com/openai/v1',
      'azure https://a.openai.azure.com/openai/v1/chat/completions d',
    ],
    [
      'azure/x',
      'https://a.test/openai/deployments/dep/chat/completions?api-version=2024-06-01',
      'azure https://a.test/openai/deployments/dep/chat/completions?api-version=2024-06-01 dep',
    ],
    [
      'azure/command-r-plus',
      'https://c.inference.ai.azure.com/v1',
      'custom https://c.inference.ai.azure.com/v1/chat/completions command-r-plus',
    ],
  ])('%s at %s', (model, base, expected) => {
    expect(goesTo({ model, ...(base === '' ? {} : { api_base: base }) })).toBe(expected);
  });

  test.each([
    [
      'azure_ai/m',
      'https://m.eastus.models.ai.azure.com',
      'custom https://m.eastus.models.ai.azure.com/chat/completions m',
    ],
    [
      'azure_ai/m',
      'https://m.eastus.models.ai.azure.com/v1/',
      'custom https://m.eastus.models.ai.azure.com/v1/chat/completions m',
    ],
    [
      'azure_ai/m',
      'https://r.services.ai.azure.com',
      'azure https://r.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview m',
    ],
    [
      'azure_ai/m',
      'https://r.services.ai.azure.com/models/chat/completions?api-version=2025-01-01',
      'azure https://r.services.ai.azure.com/models/chat/completions?api-version=2025-01-01 m',
    ],
    [
      'azure_ai/claude-sonnet-4-5',
      'https://r.services.ai.azure.com/anthropic',
      'anthropic https://r.services.ai.azure.com/anthropic/v1/messages claude-sonnet-4-5',
    ],
    [
      'azure_ai/agents/asst_1',
      'https://r.services.ai.azure.com',
      'nothing here sends its requests to an address like agents/… (r.services.ai.azure.com)',
    ],
  ])('Azure’s serverless %s at %s', (model, base, expected) =>
    expect(goesTo({ model, api_base: base })).toBe(expected),
  );

  test('a serverless deployment of a version keeps it in its address', () =>
    expect(goesTo({ model: 'azure_ai/m', api_base: 'https://m.models.ai.azure.com', api_version: '2024-05-01' })).toBe(
      'custom https://m.models.ai.azure.com/chat/completions?api-version=2024-05-01 m',
    ));

  test('every provider of the table is one that is served', () => {
    for (const name of ['openai', 'azure_ai', 'cohere_chat', 'hosted_vllm', 'deepinfra', 'xinference'])
      expect(litellmProvider(name), name).toBeDefined();
    expect(litellmProvider('toString')).toBeUndefined();
  });
});

describe('prices', () => {
  const entries = (...rows: Row[]) => {
    const price = statedPrice(...rows);
    return price === null ? null : priceEntries(price);
  };
  test('nothing is a price: a model that costs 0 is free', () => {
    expect(entries({ input_cost_per_token: 0, output_cost_per_token: 0 })).toMatchObject({ ModelRatio: 0 });
    expect(entries({ input_cost_per_token: 0 })).toMatchObject({ ModelRatio: 0 });
    expect(entries({ input_cost_per_token: '0.0', output_cost_per_token: 0 })).toMatchObject({ ModelRatio: 0 });
    expect(entries({ input_cost_per_token: null, output_cost_per_token: '' })).toBeNull();
    expect(entries({ input_cost_per_token: -1 }, { input_cost_per_token: false })).toBeNull();
  });
  test('free input with paid output, in a long prompt too, is not written as free', () => {
    expect(entries({ input_cost_per_token: 0, output_cost_per_token: 1e-6 })).toBeNull();
    expect(entries({ input_cost_per_token: 0, output_cost_per_token_above_200k_tokens: 1e-6 })).toBeNull();
  });
  test('every price for tokens acts: cache, sound, pictures, long prompts, calls', () => {
    expect(
      entries(
        { input_cost_per_token: 2e-6, output_cost_per_token: 8e-6, cache_read_input_token_cost: 0 },
        {
          cache_creation_input_token_cost: 2.5e-6,
          cache_creation_input_token_cost_above_1hr: 4e-6,
          input_cost_per_audio_token: 2e-5,
          output_cost_per_audio_token: 4e-5,
          input_cost_per_image_token: 6e-6,
          input_cost_per_token_above_200k_tokens: 4e-6,
          output_cost_per_token_above_200k_tokens: 12e-6,
          input_cost_per_token_above_128k_tokens: 3e-6,
        },
      ),
    ).toEqual({
      ModelPrice: undefined,
      ModelRatio: 1,
      CompletionRatio: 4,
      CacheRatio: 0,
      CreateCacheRatio: 1.25,
      CreateCache1hRatio: 2,
      AudioRatio: 10,
      AudioCompletionRatio: 2,
      ImageRatio: 3,
      ContextTiers: [
        { above: 128_000, input: 1.5, output: 1, cache_write: 1 },
        { above: 200_000, input: 2, output: 1.5, cache_write: 1 },
      ],
    });
    expect(entries({ input_cost_per_request: 0.01 })).toEqual({ ModelPrice: 0.01 });
    expect(entries({ input_cost_per_token: 1e-15 })).toMatchObject({ ModelRatio: 1e-6 });
  });
  test('members that say a price are known, others are not', () => {
    for (const member of ['input_cost_per_token', 'output_cost_per_token_above_272k_tokens', 'input_cost_per_query'])
      expect(isPriceMember(member), member).toBe(true);
    for (const member of ['input_cost_per_second', 'input_cost_per_token_priority', 'mode', 'toString'])
      expect(isPriceMember(member), member).toBe(false);
  });
  test('where several rows share a name the dearest counts, token by token', () => {
    const price = (input: number, output: number, more: Row = {}) =>
      statedPrice({ input_cost_per_token: input, output_cost_per_token: output, ...more }) as Price;
    const both = dearestPrice([
      price(0, 0),
      price(2e-6, 4e-6, { cache_read_input_token_cost: 1e-6 }),
      price(1e-6, 8e-6),
    ]);
    expect(both?.dollars).toEqual({ input: 2e-6, output: 8e-6, cacheRead: 1e-6 });
    const long = price(1e-6, 1e-6, { input_cost_per_token_above_200k_tokens: 9e-6 });
    expect(dearestPrice([long, price(2e-6, 1e-6)])?.tiers).toEqual([
      { above: 200_000, dollars: { input: 9e-6, output: 1e-6 } },
    ]);
    const call = statedPrice({ input_cost_per_request: 1 }) as Price;
    expect(dearestPrice([call, statedPrice({ input_cost_per_request: 3 }) as Price])?.perCall).toBe(3);
    expect(dearestPrice([call, price(1e-6, 1e-6)])).toBeNull();
    expect(dearestPrice([])).toBeNull();
  });
  test('an output alone has the input’s price from the list', () => {
    const listed = listedPrice({
      ...{ modelRatio: 1, modelPrice: null, completionRatio: 4, cacheRatio: 0.5, cacheWriteRatio: 1.25 },
      ...{ cacheWrite1hRatio: 2, audioRatio: 1, audioCompletionRatio: 1, imageRatio: 1, tiers: [] },
    } as unknown as Prices);
    const stated = statedPrice({ output_cost_per_token: 10e-6 }) as Price;
    expect(priceEntries(stated)).toBeNull();
    expect(priceEntries(completed(stated, listed))).toMatchObject({
      ModelRatio: 1,
      CompletionRatio: 5,
      CacheRatio: 0.5,
    });
    const whole = statedPrice({ input_cost_per_token: 0 }) as Price;
    expect(completed(whole, listed)).toBe(whole);
  });
});
