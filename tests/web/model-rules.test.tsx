// @vitest-environment happy-dom
/** The option of model rules as a form: rules to add, change and take away, and what the form does not know kept as it is. */

import i18next from 'i18next';
import { type ComponentType, useState } from 'react';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { modelRules } from '../../server/contract/model-rules.ts';
import { blankRule, rulesIn, textOfRules } from '../../web/features/settings/model-rules.ts';
import type { ModelRulesFieldProps } from '../../web/features/settings/model-rules-field.tsx';
import { mounted, unmounted } from './mounted.tsx';
import { reader } from './rendered.tsx';

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

const stored = [
  { models: '^my-model', provider: 'openai', outputCap: 8192, efforts: ['low', 'high'], refuses: ['temperature'] },
  {
    models: 'vision',
    thinking: 'budget',
    budget: [1024, 8000],
    inputs: ['text', 'image'],
    takes: ['seed'],
    source: 'a report',
  },
];

test('rules come back as they were stored, also in what has no field', () => {
  const rules = rulesIn(JSON.stringify(stored));
  expect(rules).toHaveLength(2);
  expect(rules?.[0]).toMatchObject({
    models: '^my-model',
    outputCap: '8192',
    efforts: 'low, high',
    refuses: ['temperature'],
  });
  expect(rules?.[1]?.rest).toEqual({ budget: [1024, 8000], inputs: ['text', 'image'] });
  expect(JSON.parse(textOfRules(rules ?? []))).toEqual(stored);
  expect(rulesIn('')).toEqual([]);
});

test('what is typed is what the option takes: words between commas, numbers with their thousands; what is no number is left for it to refuse', () => {
  const text = (some: object) => textOfRules([{ ...blankRule, models: ' ^x ', ...some }]);
  expect(JSON.parse(text({ efforts: 'low，medium  high', inputLimit: '200,000' }))).toEqual([
    { models: '^x', inputLimit: 200_000, efforts: ['low', 'medium', 'high'] },
  ]);
  expect(modelRules.check(text({ efforts: 'low', outputCap: '1', thinking: 'effort' }))).toBe(null);
  expect(modelRules.check(text({ outputCap: 'many' }))?.en).toBe('rule 1: outputCap is not valid');
  expect(modelRules.check(text({ models: '' }))?.en).toBe('rule 1: models is not valid');
});

test.each([
  '{',
  '{}',
  '[1]',
  '[{"models":1}]',
  '[{"models":"x","outputCap":"1"}]',
  '[{"models":"x","refuses":"all"}]',
  '[{"models":"x","efforts":[1]}]',
])('what is not a list of rules, %s, is edited as text alone', (text) => {
  expect(rulesIn(text)).toBe(null);
});

interface HeldProps {
  readonly Shown: ComponentType<ModelRulesFieldProps>;
  readonly first: string;
  readonly onType: (value: string) => void;
}

function Held({ Shown, first, onType }: HeldProps) {
  const [value, setValue] = useState(first);
  const change = (next: string) => {
    onType(next);
    setValue(next);
  };
  const shared = { option: 'model_rules', label: 'Rules', help: '', error: undefined, locked: false };
  return <Shown {...shared} value={value} onChange={change} />;
}

async function open(first: string) {
  const { ModelRulesField } = await import('../../web/features/settings/model-rules-field.tsx');
  const typed: string[] = [];
  const page = await mounted(
    () => <Held Shown={ModelRulesField} first={first} onType={(value) => void typed.push(value)} />,
    { path: '/setting', user: reader(100) },
  );
  return { page, last: () => JSON.parse(typed.at(-1) ?? 'null') as unknown };
}
const word = (key: string, more: Readonly<Record<string, string | number>> = {}): string =>
  i18next.t(`settings.rule.${key as 'add'}`, more);

const removal = (name: string): string => i18next.t('app.named', { name: word('remove'), value: name });

test('a rule is added, filled in, and taken away; the others stay', async () => {
  const { page, last } = await open(JSON.stringify(stored));
  expect(page.text()).toContain(word('others', { names: 'takes, budget, inputs' }));
  await page.press(word('add'));
  const fields = [...document.querySelectorAll<HTMLInputElement>('input[placeholder="^my-model"]')];
  expect(fields.map(({ value }) => value)).toEqual(['^my-model', 'vision', '']);
  await page.press(removal('^my-model'));
  expect(last()).toEqual([stored[1], { models: '' }]);
  await page.press(removal('vision'));
  await page.type(word('models'), 'new-.*');
  await page.type(word('outputCap'), '4096');
  await page.press('temperature');
  await page.press('tools');
  expect(last()).toEqual([{ models: 'new-.*', outputCap: 4096, refuses: ['temperature', 'tools'] }]);
  await page.press('temperature');
  expect(last()).toEqual([{ models: 'new-.*', outputCap: 4096, refuses: ['tools'] }]);
});

test('without rules the form says so, and the text can be pasted; a text of something else stays text', async () => {
  const { page } = await open('[]');
  expect(page.text()).toContain(word('none'));
  await page.press('Rules: JSON');
  expect(document.querySelector('textarea')?.value).toBe('[]');
  await unmounted();
  const other = await open('{"a":1}');
  expect(document.querySelector('textarea')?.value).toBe('{"a":1}');
  expect(other.page.text()).not.toContain(word('add'));
});
