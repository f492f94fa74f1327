/** Orders of turns that a model or a provider does not take. */
import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecFor } from '../../server/protocols/registry.ts';
import { rulesFor, withinRules } from '../../server/providers/knowledge/apply.ts';
import { targetFor } from '../../server/providers/knowledge/target.ts';

const user = { role: 'user', content: 'hi' };
const prefill = { role: 'assistant', content: '{' };

function translated(dialect: ProtocolId, [provider, model]: readonly [string, string], messages: readonly unknown[]) {
  const dropped: string[] = [];
  const request = codecFor('openai-chat').translation.decodeRequest({ messages }, { model, stream: false });
  const made = codecFor(dialect).translation.encodeRequest(request, dropped, targetFor(provider, model));
  const body = withinRules(made, rulesFor(provider, dialect, true, model), dropped);
  return { roles: (body.messages as readonly { role: string }[]).map(({ role }) => role), body, dropped };
}

test.each([
  ['anthropic-messages', ['anthropic', 'claude-opus-4-8']],
  ['anthropic-messages', ['aws', 'claude-sonnet-5']],
  ['openai-chat', ['perplexity', 'sonar']],
] as const)('words to go on from are followed by a wish to go on: %s, %s', (dialect, place) => {
  const { roles, dropped } = translated(dialect, place, [user, prefill]);
  expect(roles).toEqual(['user', 'assistant', 'user']);
  expect(dropped).toEqual(['/messages/1: this model does not go on from it, and is asked to continue']);
});

test('a model that goes on from them gets them last', () => {
  const { roles, dropped } = translated('anthropic-messages', ['anthropic', 'claude-sonnet-4-5'], [user, prefill]);
  expect(roles).toEqual(['user', 'assistant']);
  expect(dropped).toEqual([]);
});

test('messages of one side in a row become one where sides must take turns', () => {
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
  const { body, roles, dropped } = translated(
    'openai-chat',
    ['perplexity', 'sonar'],
    [
      { role: 'system', content: 'be brief' },
      { role: 'system', content: 'be kind' },
      { role: 'assistant', content: 'a' },
      { role: 'assistant', content: 'b' },
      { role: 'user', content: 'c' },
      { role: 'user', content: [{ type: 'text', text: 'd' }, image] },
    ],
  );
  const rules = rulesFor('perplexity', 'openai-chat', false, 'sonar');
  const passed = withinRules({ messages: [user, user] }, rules, []);
  expect(passed.messages).toEqual([{ role: 'user', content: 'hi\n\nhi' }]);
  expect(roles).toEqual(['system', 'assistant', 'user']);
  expect((body.messages as readonly { content: unknown }[])[1]?.content).toBe('a\n\nb');
  expect(dropped).toContain('/messages: what one side says in a row is one message here');
  const calm = [user, prefill, user];
  expect(withinRules({ messages: calm }, rules, []).messages).toBe(calm);
});

test('members of turns that become one are declared as left out, each once, whoever wrote them', () => {
  const rules = rulesFor('perplexity', 'openai-chat', false, 'sonar');
  const joined = (...messages: readonly object[]) => {
    const dropped: string[] = [];
    withinRules({ messages }, rules, dropped);
    return dropped;
  };
  const said = '/messages: what one side says in a row is one message here';
  const ann = { ...user, name: 'ann' };
  const thinks = { ...prefill, refusal: 'no' };
  expect(joined(user, user)).toEqual([said]);
  expect(joined(ann, ann)).toEqual([said]);
  expect(joined(ann, { ...user, name: null })).toEqual([said]);
  expect(joined(ann, { ...user, name: 'bob' })).toEqual([`${said}; name of the later ones are left out`]);
  expect(joined(user, prefill, thinks, thinks)).toEqual([`${said}; refusal of the later ones are left out`]);
  expect(joined(user, ann, { ...ann, ['x'.repeat(500)]: 1, y: 2 })).toEqual([
    `${said}; name, other members of the later ones are left out`,
  ]);
});
