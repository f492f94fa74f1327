import { describe, expect, test } from 'vitest';
import { modelParameters } from '../../server/contract/model-rules.ts';
import { allCodecs } from '../../server/protocols/registry.ts';
import { adapterOf } from '../../server/providers/adapter-registry.ts';
import { allProviders, providerBySlug } from '../../server/providers/catalogue.ts';
import { editsBetween, rulesFor, withinRules } from '../../server/providers/knowledge/apply.ts';
import { detailsOf } from '../../server/providers/knowledge/explanation.ts';
import { modelRows } from '../../server/providers/knowledge/models.ts';
import { ownRows } from '../../server/providers/knowledge/own.ts';
import { providerRows } from '../../server/providers/knowledge/providers.ts';
import { secondDialects } from '../../server/providers/knowledge/second-dialects.ts';
import { rowsFor, sameDemands, targetFor, targetOf } from '../../server/providers/knowledge/target.ts';

describe('rows', () => {
  const all = [...modelRows, ...providerRows];

  test('each says where it is known from, outside of this project', () => {
    for (const { source } of all) expect(source).toMatch(/^https:\/\/[\w.-]+\.[a-z]+\//);
  });

  test('each speaks of a provider of the catalogue and of a dialect that it speaks', () => {
    const slugs = new Set(allProviders.map(({ slug }) => slug));
    for (const { provider } of all) if (provider !== undefined) expect(slugs).toContain(provider);
    for (const { provider, dialect } of providerRows) {
      const spoken = ['m', 'claude-sonnet-4-6', 'gemini-2.5-pro'].flatMap((model) => {
        const own = adapterOf(provider)?.protocol?.({ operation: 'chat', model, keyKind: 'secret' });
        return [own?.dialect, own?.wire?.dialect];
      });
      if (spoken.includes(dialect)) continue;
      const codec = allCodecs.find(({ id }) => id === dialect);
      const beside = secondDialects.filter((row) => row.provider === provider).map(({ operation }) => operation);
      expect([...(providerBySlug(provider)?.operations ?? []), ...beside]).toContain(codec?.definition.chatOperation);
    }
  });

  const requested = () => {
    const names = allProviders.flatMap(({ slug, models, formerModels }) =>
      [...models, ...formerModels].map((model) => ({ slug, model })),
    );
    const more =
      'glm-5 claude-opus-5-5 claude-opus-5 claude-fable-5 claude-sonnet-5-5 claude-opus-latest claude-v2 gemini-3.8-flash gemini-1.5-pro gemini-3-pro-preview gemini-2.5-flash-image gemma-3-27b kimi-k3 grok-4.5 grok-4.6 gpt-6-astra gpt-6-sol grok-3-mini grok-4 grok-code-fast-1 magistral-medium-latest deepseek-r1 doubao-seed-1-6 o1-mini chatgpt-4o-latest kimi-k2-instruct gemini-2.5-computer-use-preview deepseek.r1-v1:0 qwen.qwen3-vl-235b-a22b'.split(
        ' ',
      );
    const known = [...names, ...more.flatMap((model) => allProviders.map(({ slug }) => ({ slug, model })))];
    return known;
  };

  test('each rule is needed: without it some request would be sent differently', () => {
    const open = new Set(modelRows);
    for (const { slug, model } of requested()) {
      const rows = rowsFor(slug, model);
      const whole = targetOf(model, rows);
      for (const row of rows) {
        if (!open.has(row)) continue;
        const without = targetOf(
          model,
          rows.filter((other) => other !== row),
        );
        const thinksAlike =
          whole.tokensPerSecond === without.tokensPerSecond &&
          whole.thoughtsVisible === without.thoughtsVisible &&
          whole.apartThought === without.apartThought;
        if (!sameDemands(whole, without) || !thinksAlike) open.delete(row);
      }
    }
    expect([...open].map(({ models, provider, source }) => `${provider ?? ''} ${models} ${source}`)).toEqual([]);
  });

  test('bounds are bounds, words are words', () => {
    for (const { outputCap, budget, efforts, unsupported, supported } of modelRows) {
      if (outputCap != null) expect(outputCap).toBeGreaterThan(1000);
      if (budget != null) expect(budget[0]).toBeLessThan(budget[1]);
      for (const word of efforts ?? []) expect(word).toMatch(/^(none|minimal|low|medium|high|xhigh|max|default)$/);
      for (const member of [...(unsupported ?? []), ...(supported ?? [])]) expect(modelParameters).toContain(member);
    }
  });
});

describe('targets', () => {
  const sampling = ['temperature', 'topP', 'topK'] as const;

  test.each([
    ['anthropic', 'claude-opus-4-7', true],
    ['anthropic', 'claude-opus-4-8', true],
    ['anthropic', 'claude-sonnet-5', true],
    ['anthropic', 'claude-fable-5', true],
    ['anthropic', 'claude-opus-5-5', true],
    ['aws', 'us.anthropic.claude-opus-4-7', true],
    ['aws', 'us-gov.anthropic.claude-opus-4-8', true],
    ['vertex', 'claude-opus-4-7@default', true],
    ['custom', 'anthropic/claude-opus-4.7', true],
    // It leaves them out itself.
    ['openrouter', 'anthropic/claude-opus-4.7', false],
    ['anthropic', 'claude-opus-4-6', false],
    ['anthropic', 'claude-sonnet-4-6', false],
    ['anthropic', 'claude-haiku-4-5-20251001', false],
    ['anthropic', 'claude-3-5-sonnet-20241022', false],
  ])('%s %s refuses sampling: %s', (provider, model, refuses) => {
    const target = targetFor(provider, model);
    for (const member of sampling) expect(target.unsupported.has(member)).toBe(refuses);
  });

  test.each([
    ['openai', 'gpt-5', ['minimal', 'low', 'medium', 'high']],
    ['openai', 'gpt-5.1', ['none', 'low', 'medium', 'high']],
    ['azure', 'gpt-5.4-mini', ['none', 'low', 'medium', 'high', 'xhigh']],
    ['openai', 'gpt-5.2-codex', ['low', 'medium', 'high', 'xhigh']],
    ['openai', 'gpt-6-sol', ['none', 'low', 'medium', 'high', 'xhigh', 'max']],
    ['openai', 'gpt-6-astra', ['low', 'medium', 'high', 'xhigh', 'max']],
    ['azure', 'gpt-6.1-sol', ['low', 'medium', 'high', 'xhigh', 'max']],
    ['openai', 'gpt-5-pro', ['high']],
    ['openai', 'o3', ['low', 'medium', 'high']],
    ['groq', 'qwen/qwen3-32b', ['none', 'default']],
    ['groq', 'openai/gpt-oss-120b', ['low', 'medium', 'high']],
    ['groq', 'llama-3.3-70b-versatile', []],
    ['xai', 'grok-4-0709', []],
    ['xai', 'grok-4.3', ['none', 'low', 'medium', 'high']],
    ['xai', 'grok-4.6', ['low', 'medium', 'high', 'xhigh']],
    ['xai', 'grok-4.20-0309-reasoning', []],
    ['moonshot', 'k3', ['low', 'high', 'max']],
    ['custom', 'k3-256k', ['low', 'high', 'max']],
    ['moonshot', 'kimi-for-coding', []],
    ['mistral', 'mistral-large-latest', []],
    ['mistral', 'mistral-small-latest', ['none', 'high']],
    ['anthropic', 'claude-opus-4-6', ['low', 'medium', 'high', 'max']],
    ['anthropic', 'claude-opus-5-5', ['low', 'medium', 'high', 'xhigh', 'max']],
    ['gemini', 'gemini-3-pro-preview', ['low', 'high']],
    ['gemini', 'gemini-3.5-flash', ['minimal', 'low', 'medium', 'high']],
    ['deepseek', 'deepseek-v4-pro', ['low', 'high', 'max']],
  ])('%s %s takes these words for effort', (provider, model, efforts) => {
    expect(targetFor(provider, model).efforts).toEqual(efforts);
  });

  test.each([
    ['perplexity', 'sonar-reasoning-pro', true],
    ['perplexity', 'sonar-deep-research', true],
    ['perplexity', 'sonar-pro', false],
  ])('%s %s thinks whether it is asked to or not: %s', (provider, model, thinks) => {
    expect(targetFor(provider, model)).toMatchObject({ thinkingRequired: thinks, thinkingByDefault: thinks });
  });

  test('calls of every current Gemini model must be signed, whatever its name says', () => {
    for (const model of ['gemini-3-pro-preview', 'gemini-flash-latest', 'models/gemini-pro-latest'])
      expect(targetFor('gemini', model).signedCalls).toBe(true);
    for (const model of ['gemini-2.5-pro', 'gemini-2.0-flash'])
      expect(targetFor('gemini', model).signedCalls).toBe(false);
  });

  test('unknown names have no rules', () => {
    expect(targetFor('custom', 'my-own-model')).toBe(targetFor('openai', 'another-one-of-mine'));
  });

  test('an operator’s row wins, member by member, and a new list forgets the old one', () => {
    const own = [
      { models: /^gpt-5$/, outputCap: 500, supported: ['temperature' as const], source: 'https://example.com/' },
    ];
    const target = targetFor('openai', 'gpt-5', own);
    expect(target.outputCap).toBe(500);
    expect(target.unsupported.has('temperature')).toBe(false);
    expect(target.unsupported.has('topP')).toBe(true);
    expect(targetFor('openai', 'gpt-5').outputCap).toBe(128_000);
    expect(targetFor('openai', 'gpt-5', []).unsupported.has('temperature')).toBe(true);
  });

  test('a rule is read into a row by the names the option documents, and reported by the same', () => {
    const rule = {
      alwaysThinks: true,
      thinksUnasked: true,
      showsThoughts: true,
      tokensPerSecond: 9,
      refusesThinking: ['topP' as const],
      switched: 'thinking' as const,
      suffixed: true,
    };
    const own = ownRows([
      { ...rule, models: '^my-model$', refuses: ['seed', 'stop'] },
      { models: '^my-model$', takes: ['stop'] },
    ]);
    expect(targetFor('custom', 'my-model', own)).toMatchObject({
      thinkingRequired: true,
      thinkingByDefault: true,
      thoughtsVisible: true,
      tokensPerSecond: 9,
      thinkingSwitch: 'thinking',
      effortSuffix: true,
      unsupported: new Set(['seed']),
      unsupportedWithThinking: new Set(['topP']),
    });
    const { refusesThinking, ...reported } = rule;
    expect(
      Object.fromEntries(detailsOf('custom', 'my-model', own).map(({ member, value }) => [member, value])),
    ).toEqual({
      ...reported,
      'refuses seed': true,
      'refusesThinking topP': true,
    });
  });
});

describe('provider rules', () => {
  const applied = (provider: string, body: Record<string, unknown>, model = 'm', translated = true) => {
    const dropped: string[] = [];
    const within = withinRules(body, rulesFor(provider, 'openai-chat', translated, model), dropped);
    return { within, dropped, edits: editsBetween(body, within) };
  };
  const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });

  test.each([
    [0, 0.01],
    [0.01, 0.01],
    [0.5, 0.5],
    [1, 1],
    [1.5, 1],
  ])('MiniMax asked for the temperature %d gets %d', (temperature, expected) => {
    expect(applied('minimax', { messages: [], temperature }).within.temperature).toBe(expected);
  });

  test('Volcengine has not heard of developers, and of everybody else', () => {
    const roles = ['system', 'developer', 'user', 'assistant', 'tool'];
    const { within } = applied('volcengine', { messages: roles.map((role) => ({ role, content: 'x' })) });
    expect((within.messages as { role: string }[]).map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
    ]);
  });

  test.each([
    ['fireworks', 'messages[].reasoning'],
    ['groq', null],
    ['cerebras', null],
  ])(
    '%s gets calls without the signatures of another upstream, and no thoughts by a name that it refuses',
    (provider, refused) => {
      const signed = { ...call('c1'), extra_content: { google: { thought_signature: 's' } } };
      const turn = { role: 'assistant', content: '', reasoning: 'thought', tool_calls: [signed] };
      const messages = [{ role: 'user', content: 'hi' }, turn];
      for (const translated of [true, false]) {
        const { within, dropped } = applied(provider, { messages }, 'm', translated);
        const [, sent] = within.messages as Record<string, unknown>[];
        expect(sent?.tool_calls).toEqual([call('c1')]);
        expect(sent?.reasoning).toBe(refused === null ? 'thought' : undefined);
        expect(dropped.some((line) => line.startsWith('/messages[]/tool_calls[]/extra_content'))).toBe(true);
        expect(dropped.some((line) => line.startsWith('/messages[]/reasoning'))).toBe(refused !== null);
      }
    },
  );

  test('MiniMax gets parameters of every tool and arguments of every call', () => {
    const bare = { type: 'function', function: { name: 'f' } };
    const told = { type: 'function', function: { name: 'g', parameters: { type: 'object', properties: { a: {} } } } };
    const search = { type: 'web_search' };
    const without = { ...call('c1'), function: { name: 'f', arguments: '' } };
    const messages = [{ role: 'assistant', content: '', tool_calls: [without, call('c2')] }];
    const { within, dropped } = applied('minimax', { messages, tools: [bare, told, search] }, 'm', false);
    expect(within.tools).toEqual([
      { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } },
      told,
      search,
    ]);
    expect(within.messages).toEqual([{ role: 'assistant', content: '', tool_calls: [call('c1'), call('c2')] }]);
    expect(dropped).toEqual([]);
    const whole = { messages: [], tools: [told] };
    expect(applied('minimax', whole, 'm', false).within).toBe(whole);
  });

  test.each(['xai', 'openrouter', 'groq', 'lm-studio', 'vllm'])(
    '%s gets thoughts back without the members that Codex never had',
    (provider) => {
      const thought = { type: 'reasoning', summary: [], encrypted_content: 'sealed' };
      const turns = (content: object) => ({
        model: 'm',
        input: [
          { role: 'user', content: 'hi' },
          { ...thought, ...content },
        ],
      });
      const rules = rulesFor(provider, 'openai-responses', false, 'm');
      const dropped: string[] = [];
      expect(withinRules(turns({ content: null }), rules, dropped)).toEqual(turns({}));
      const told = turns({ content: [{ type: 'reasoning_text', text: 'so' }] });
      expect(withinRules(told, rules, dropped)).toBe(told);
      expect(dropped).toEqual([]);
    },
  );

  test('Mistral gets what it takes, and ids of calls in its shape on both sides', () => {
    const id = 'toolu_01A09q90qw90lq917835lq9';
    const { within, dropped } = applied('mistral', {
      model: 'mistral-large-latest',
      stream_options: { include_usage: true },
      max_completion_tokens: 50,
      seed: 7,
      user: 'ann',
      logit_bias: { 1: 2 },
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: null, reasoning_content: 'hm', tool_calls: [call(id), call('AbCdEf123')] },
        { role: 'tool', tool_call_id: id, content: 'one' },
        { role: 'tool', tool_call_id: 'AbCdEf123', content: 'two' },
      ],
    });
    const messages = within.messages as { tool_calls?: { id: string }[]; tool_call_id?: string }[];
    const made = messages[1]?.tool_calls?.[0]?.id;
    expect(made).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(messages[2]?.tool_call_id).toBe(made);
    expect(messages[1]?.tool_calls?.[1]?.id).toBe('AbCdEf123');
    expect(within).toMatchObject({ max_tokens: 50, random_seed: 7 });
    expect(Object.keys(within).toSorted()).toEqual(['max_tokens', 'messages', 'model', 'random_seed']);
    expect(messages[1]).not.toHaveProperty('reasoning_content');
    expect(dropped.toSorted()).toEqual([
      '/logit_bias: not taken by the upstream',
      '/messages[]/reasoning_content: not taken by the upstream',
      '/user: not taken by the upstream',
    ]);
  });

  test('thoughts of the history stay where they are wanted alone', () => {
    const messages = [
      { role: 'assistant', content: 'a', reasoning_content: 'hm' },
      { role: 'user', content: 'on' },
    ];
    const [groq, cerebras, deepseek, moonshot] = ['groq', 'cerebras', 'deepseek', 'moonshot'].map(
      (provider) => (applied(provider, { messages }).within.messages as object[])[0],
    );
    expect(groq).toEqual({ role: 'assistant', content: 'a' });
    expect(cerebras).toEqual({ role: 'assistant', content: 'a', reasoning: 'hm' });
    expect(deepseek).toEqual(messages[0]);
    expect(moonshot).toEqual(messages[0]);
    expect(messages[0]).toHaveProperty('reasoning_content', 'hm');
  });

  test('a call without the thought that led to it says so, where the thought is demanded', () => {
    const messages = [
      { role: 'assistant', content: null, tool_calls: [call('a')] },
      { role: 'assistant', content: 'no call' },
      { role: 'user', content: 'on' },
    ];
    for (const [provider, model] of [
      ['deepseek', 'deepseek-v4-pro'],
      ['moonshot', 'kimi-k2.6'],
    ] as const)
      expect(applied(provider, { messages }, model)).toMatchObject({
        within: { messages: [{ ...messages[0], reasoning_content: ' ' }, ...messages.slice(1)] },
        dropped: [],
      });
    expect(applied('moonshot', { messages }, 'moonshot-v1-8k').within.messages).toBe(messages);
  });

  test('Mistral: a user does not follow a result', () => {
    const messages = [
      { role: 'tool', tool_call_id: 'AbCdEf123', content: 'sun' },
      { role: 'user', content: 'and now?' },
    ];
    const { within, dropped } = applied('mistral', { messages });
    expect(within.messages).toEqual([messages[0], { role: 'assistant', content: 'Done.' }, messages[1]]);
    expect(dropped).toHaveLength(1);
  });

  test('JSON is asked for in words too, where these are demanded', () => {
    const messages = [{ role: 'user', content: 'hi' }];
    const requested = { messages, response_format: { type: 'json_object' } };
    for (const provider of ['deepseek', 'ali']) {
      const { within, dropped } = applied(provider, requested);
      expect(within.messages).toEqual([{ role: 'system', content: 'Answer in JSON.' }, ...messages]);
      expect(dropped).toHaveLength(1);
      expect(applied(provider, { messages }).within.messages).toBe(messages);
      const spoken = { ...requested, messages: [{ role: 'user', content: 'as JSON, please' }] };
      expect(applied(provider, spoken).within).toBe(spoken);
      expect(applied(provider, requested, 'm', false).within).toBe(requested);
    }
  });

  test('developers are the system where the role is unknown', () => {
    const user = { role: 'user', content: 'hi' };
    const messages = [{ role: 'developer', content: 'be brief' }, user];
    for (const provider of ['mistral', 'deepseek', 'moonshot', 'zhipu-v4', 'ali', 'minimax', 'together', 'perplexity'])
      expect(applied(provider, { messages })).toMatchObject({
        within: { messages: [{ role: 'system', content: 'be brief' }, user] },
        dropped: [],
      });
  });

  test('bounds of lists, and members that bite only beside others', () => {
    expect(applied('zhipu-v4', { stop: ['a', 'b'] })).toMatchObject({
      within: { stop: ['a'] },
      dropped: ['/stop: no more than 1'],
    });
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const requested = { reasoning_effort: 'high', tools };
    expect(applied('openai', requested, 'gpt-5.5').within).toEqual({ tools, reasoning_effort: 'none' });
    // Where nothing is set it thinks, and this refuses tools too; its older relative does not.
    expect(applied('openai', { tools }, 'gpt-5.5').within).toEqual({ tools, reasoning_effort: 'none' });
    expect(applied('openai', { tools }, 'gpt-5.4').within).toEqual({ tools });
    expect(applied('openai', { ...requested, reasoning_effort: 'none' }, 'gpt-5.5').within).toHaveProperty(
      'reasoning_effort',
    );
    expect(applied('openai', { ...requested, tools: [] }, 'gpt-5.5').within).toHaveProperty('reasoning_effort');
    expect(applied('openai', requested, 'gpt-5.2').within).toBe(requested);
  });

  test('a body that no rule bites is the same one: no edit, and nothing is looked at twice', () => {
    const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], temperature: 0.5 };
    for (const { slug } of allProviders) {
      const { within, edits, dropped } = applied(slug, body);
      expect(within).toBe(body);
      expect(edits.size).toBe(0);
      expect(dropped).toEqual([]);
    }
    expect(rulesFor('cohere', 'cohere-chat', false, 'command-a')).toBeUndefined();
  });

  test('edits are the members that changed and no others', () => {
    const { edits } = applied('groq', { model: 'm', n: 3, temperature: 0.5, logprobs: true });
    expect([...edits]).toEqual([
      ['logprobs', undefined],
      ['n', '1'],
    ]);
  });

  test('another upstream’s words in a conversation do not go to OpenAI’s models, and stay with everybody else’s', () => {
    const messages = [
      { role: 'assistant', content: 'a', reasoning_content: 'hm', reasoning_details: [{ type: 'reasoning.text' }] },
      { role: 'assistant', content: null, tool_calls: [{ ...call('a'), extra_content: { google: {} } }] },
      { role: 'user', content: 'on' },
    ];
    for (const translated of [true, false]) {
      expect(applied('openai', { messages }, 'gpt-5', translated).within.messages).toEqual([
        { role: 'assistant', content: 'a' },
        { role: 'assistant', content: null, tool_calls: [call('a')] },
        { role: 'user', content: 'on' },
      ]);
      expect(applied('openai', { messages }, 'deepseek-v4-pro', translated).within.messages).toBe(messages);
    }
  });

  test('what OpenAI itself refuses is left to its own clients', () => {
    const body = { model: 'gpt-5', logprobs: true };
    expect(applied('openai', body, 'gpt-5', false).within).toBe(body);
    expect(applied('openai', body, 'gpt-5', true).within).toEqual({ model: 'gpt-5' });
    expect(applied('openai', body, 'gpt-4o', true).within).toBe(body);
  });
});

test.each([
  ['xai', 'grok-4', 64_000],
  ['xai', 'grok-4-0709', 64_000],
  ['xai', 'grok-4-fast-reasoning', 30_000],
  ['xai', 'grok-4.20-0309-reasoning', 30_000],
  ['xai', 'grok-4.3', 30_000],
  ['groq', 'moonshotai/kimi-k2-instruct', 16_384],
  ['moonshot', 'kimi-k2-0711-preview', 16_384],
  ['mistral', 'mistral-large-2411', 16_384],
])('%s writes no more with %s than %i tokens', (provider, model, max) => {
  expect(targetFor(provider, model).outputCap).toBe(max);
});
