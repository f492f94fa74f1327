// @vitest-environment happy-dom
/** Virtual models in the console: the order of targets, what is sent, what is said against it, and the try. */
import i18next from 'i18next';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { movedTo } from '../../web/components/ordered-list.tsx';
import { filled, people } from '../support/answers.ts';
import { act, mounted, unmounted } from './mounted.tsx';

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

const text = (key: string, values: Readonly<Record<string, unknown>> = {}): string =>
  i18next.t(key as 'app.save', values);
const refused = (code: string, params: Readonly<Record<string, unknown>>, message = 'said by the server') =>
  Response.json({ success: false, message, code, params });

async function page(answers: Readonly<Record<string, unknown>> = {}) {
  const { VirtualModelsPage } = await import('../../web/features/virtual-models/virtual-models-page.tsx');
  const shown = await mounted(() => <VirtualModelsPage />, {
    path: '/virtual-model',
    user: people.root,
    answers: { ...filled, 'virtual_model.create': {}, 'virtual_model.update': {}, ...answers },
  });
  await shown.until(() => expect(shown.text()).toContain('coder'));
  const sent = (id: string) => shown.calls.filter(([name]) => name === id).map(([, fields]) => fields);
  return { ...shown, sent };
}

/** The drawer of `coder`, with its three targets. */
async function editing(answers: Readonly<Record<string, unknown>> = {}) {
  const shown = await page(answers);
  await shown.press(text('app.edit'));
  await shown.until(() => expect(targets()).toHaveLength(3));
  const save = () => act(async () => document.querySelector<HTMLFormElement>('#virtual-model-form')?.requestSubmit());
  return { ...shown, save };
}
const targets = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('#virtual-model-form ol > li')];
const models = (): string[] => targets().map((row) => row.querySelector('input')?.value ?? '');
const focused = (): string | null | undefined => document.activeElement?.getAttribute('aria-label');

test('an item is moved to a place among the others', () => {
  expect(movedTo(['a', 'b', 'c'], 0, 2)).toEqual(['b', 'c', 'a']);
  expect(movedTo(['a', 'b', 'c'], 2, 0)).toEqual(['c', 'a', 'b']);
  expect(movedTo(['a', 'b', 'c'], 1, 1)).toEqual(['a', 'b', 'c']);
});

test('targets are moved with buttons, the focus goes with the target, and the order is what is sent', async () => {
  const drawer = await editing();
  expect(models()).toEqual(['own-model', 'gpt-4o', 'claude-sonnet-4-5']);
  await drawer.press(text('table.moveUp', { name: '3. claude-sonnet-4-5' }));
  expect(models()).toEqual(['own-model', 'claude-sonnet-4-5', 'gpt-4o']);
  expect(focused()).toBe(text('table.moveUp', { name: '2. claude-sonnet-4-5' }));
  await drawer.press(text('table.moveUp', { name: '2. claude-sonnet-4-5' }));
  // At the top it can go down alone.
  expect(focused()).toBe(text('table.moveDown', { name: '1. claude-sonnet-4-5' }));
  expect(drawer.text()).toContain(text('table.movedTo', { name: 'claude-sonnet-4-5', place: 1, total: 3 }));
  await drawer.save();
  await drawer.until(() => expect(drawer.sent('virtual_model.update')).toHaveLength(1));
  expect(drawer.sent('virtual_model.update')[0]).toEqual({
    id: 1,
    name: 'coder',
    boundary: '',
    description: 'For agents',
    targets: [
      { model: 'claude-sonnet-4-5', group: 'vip', after: ['rate_limited', 'context_too_long'], prompt_over: 100_000 },
      { model: 'own-model', classes: ['subagent', 'auxiliary'] },
      { model: 'gpt-4o' },
    ],
  });
});

const height = 100;
/** Rows of 100 pixels below each other. */
async function drag(from: number, to: number, end: 'pointerup' | 'pointercancel' = 'pointerup', button = 0) {
  for (const [at, row] of targets().entries())
    vi.spyOn(row, 'getBoundingClientRect').mockReturnValue(new DOMRect(0, at * height, 300, height));
  const handle = targets()[from]?.querySelector('[data-handle]');
  const capture = vi.fn();
  Object.assign(handle ?? {}, { setPointerCapture: capture });
  const fire = (type: string, y: number) =>
    act(async () => {
      handle?.dispatchEvent(new PointerEvent(type, { bubbles: true, button, pointerId: 1, clientY: y }));
    });
  await fire('pointerdown', from * height + 50);
  await fire('pointermove', to);
  await fire(end, to);
  return capture.mock.calls.length;
}

test('targets are dragged by their handle to where the pointer lets go', async () => {
  const drawer = await editing();
  expect(await drag(0, 260)).toBe(1);
  expect(models()).toEqual(['gpt-4o', 'claude-sonnet-4-5', 'own-model']);
  await drag(2, 40);
  expect(models()).toEqual(['own-model', 'gpt-4o', 'claude-sonnet-4-5']);
  // Past the middle of the next alone.
  await drag(0, 140);
  expect(models()).toEqual(['own-model', 'gpt-4o', 'claude-sonnet-4-5']);
  await drag(0, 160);
  expect(models()).toEqual(['gpt-4o', 'own-model', 'claude-sonnet-4-5']);
  await drawer.save();
  await drawer.until(() => expect(drawer.sent('virtual_model.update')).toHaveLength(1));
  expect(drawer.sent('virtual_model.update')[0]?.targets).toMatchObject([
    { model: 'gpt-4o' },
    { model: 'own-model' },
    { model: 'claude-sonnet-4-5' },
  ]);
});

test('a drag that the system ends, and one with another button, move nothing', async () => {
  await editing();
  await drag(0, 260, 'pointercancel');
  expect(models()).toEqual(['own-model', 'gpt-4o', 'claude-sonnet-4-5']);
  expect(await drag(0, 260, 'pointerup', 2)).toBe(0);
  expect(models()).toEqual(['own-model', 'gpt-4o', 'claude-sonnet-4-5']);
});

test('a target is added with the focus in it, removed with the focus in its place, and the last one stays', async () => {
  const drawer = await editing();
  await drawer.press(text('virtualModels.addTarget'));
  expect(models()).toEqual(['own-model', 'gpt-4o', 'claude-sonnet-4-5', '']);
  expect(targets()[3]?.contains(document.activeElement)).toBe(true);
  await drawer.press(text('table.removeItem', { name: `4. ${text('virtualModels.target', { place: 4 })}` }));
  expect(targets()[2]?.contains(document.activeElement)).toBe(true);
  await drawer.press(text('table.removeItem', { name: '1. own-model' }));
  await drawer.press(text('table.removeItem', { name: '1. gpt-4o' }));
  expect(models()).toEqual(['claude-sonnet-4-5']);
  const last = targets()[0]?.querySelector<HTMLButtonElement>(
    `[aria-label="${text('table.removeItem', { name: '1. claude-sonnet-4-5' })}"]`,
  );
  expect(last?.disabled).toBe(true);
});

test('a server’s objection to a member of a target is shown at that field, which opens and takes the focus', async () => {
  const drawer = await editing({
    'virtual_model.update': () =>
      refused('virtual_model_invalid', {
        field: 'targets[2].prompt_up_to',
        expected_en: 'more than prompt_over, 100000',
      }),
  });
  await drawer.save();
  const words = text('virtualModels.wrong.prompt_up_to');
  await drawer.until(() => expect(drawer.text()).toContain(words));
  const [, second, third] = targets();
  expect(second?.textContent).not.toContain(words);
  expect(third?.textContent).toContain(words);
  expect(third?.querySelector('[aria-expanded]:not([role=combobox])')?.getAttribute('aria-expanded')).toBe('true');
  expect(third?.contains(document.activeElement)).toBe(true);
  expect(document.activeElement?.getAttribute('aria-invalid')).toBe('true');
  // The error goes with its target, and leaves when something is changed.
  await drawer.press(text('table.moveUp', { name: '2. gpt-4o' }));
  expect(drawer.text()).not.toContain(words);
});

test('a name that is taken, a cycle, and what is about no field are said where they belong', async () => {
  let answer = refused('virtual_model_taken', { name: 'coder' }, 'taken');
  const drawer = await editing({ 'virtual_model.update': () => answer });
  await drawer.save();
  await drawer.until(() => expect(document.activeElement?.getAttribute('aria-invalid')).toBe('true'));
  expect(drawer.field(text('virtualModels.name'))).toBe(document.activeElement);
  expect(drawer.text()).toContain('taken');
  const alerts = () => [...document.querySelectorAll('#virtual-model-form [role=alert]')].map((one) => one.textContent);
  answer = refused('virtual_model_cycle', { path: 'coder → coder' }, 'they lead back');
  await drawer.save();
  await drawer.until(() => expect(alerts()).toEqual(['they lead back', '']));
  answer = refused('virtual_model_many', { most: 500 }, 'too many');
  await drawer.save();
  await drawer.until(() => expect(alerts()).toEqual(['', 'too many']));
  expect(targets()).toHaveLength(3);
});

test('a new one is made with what was typed, and what cannot be read is not sent', async () => {
  const drawer = await page();
  await drawer.press(text('virtualModels.add'));
  await drawer.until(() => expect(targets()).toHaveLength(1));
  const save = () => act(async () => document.querySelector<HTMLFormElement>('#virtual-model-form')?.requestSubmit());
  await save();
  expect(drawer.text()).toContain(text('app.required'));
  await drawer.type(text('virtualModels.name'), ' nightly ');
  await drawer.type(text('virtualModels.model'), 'gpt-4o');
  await drawer.press(text('virtualModels.more'));
  await drawer.type(text('virtualModels.over'), 'many');
  await save();
  expect(drawer.sent('virtual_model.create')).toEqual([]);
  await drawer.type(text('virtualModels.over'), '1,000');
  await drawer.type(text('virtualModels.agents'), 'Explore, Plan，');
  await drawer.press(text('virtualModels.failure.timeout'));
  await drawer.press(text('virtualModels.flagfalse'));
  await save();
  await drawer.until(() => expect(drawer.sent('virtual_model.create')).toHaveLength(1));
  expect(drawer.sent('virtual_model.create')[0]).toEqual({
    name: 'nightly',
    boundary: '',
    description: '',
    targets: [
      { model: 'gpt-4o', after: ['timeout'], prompt_over: 1000, images: false, agent_types: ['Explore', 'Plan'] },
    ],
  });
});

test('a try tells which target is taken, why another is not, and what each costs, and asks for a route alone', async () => {
  const drawer = await page();
  await drawer.press(text('virtualModels.try'));
  await drawer.until(() => expect(drawer.text()).toContain(text('virtualModels.taken')));
  const rows = () =>
    [...document.querySelectorAll('[role=dialog] ol > li')].map((row) => (row.textContent ?? '').replace(/\s+/g, ' '));
  expect(rows()).toHaveLength(3);
  expect(rows()[0]).toContain(text('virtualModels.reason.conditions'));
  expect(rows()[1]).toContain(text('virtualModels.taken'));
  expect(rows()[1]).toContain(text('prices.targetTokens', { input: '2.50', output: '10.00' }));
  expect(rows()[2]).toContain(text('virtualModels.then', { place: 2 }));
  expect(rows()[2]).toContain(text('prices.targetTokens', { input: '3.00', output: '15.00' }));
  expect(drawer.text()).toContain(text('virtualModels.notAllowed', { models: 'claude-sonnet-4-5' }));
  expect(drawer.sent('virtual_model.try')).toEqual([{ name: 'coder' }]);
  await drawer.type(text('virtualModels.keyGroup'), 'vip');
  await drawer.type(text('virtualModels.prompt'), '2,000');
  await act(async () => drawer.field(text('virtualModels.try_images')).click());
  await act(async () => document.querySelector<HTMLFormElement>('#virtual-model-try')?.requestSubmit());
  await drawer.until(() => expect(drawer.sent('virtual_model.try')).toHaveLength(2));
  expect(drawer.sent('virtual_model.try')[1]).toMatchObject({
    ...{ name: 'coder', group: 'vip', prompt_tokens: '2000', images: 'true', failure: 'unavailable' },
  });
  expect(drawer.calls.filter(([id]) => id.startsWith('/v1') || id === 'channel.test')).toEqual([]);
});

test('one that is switched off is not tried, and is switched on again from its menu', async () => {
  const shown = await page();
  const tries = [...document.querySelectorAll<HTMLButtonElement>('tbody button')].filter(
    ({ textContent }) => textContent === text('virtualModels.try'),
  );
  expect(tries.map(({ disabled }) => disabled)).toEqual([false, true]);
  await shown.press(text('table.moreOf', { name: 'fast' }));
  await shown.until(() => expect(document.querySelector('[role=menu]')).not.toBeNull());
  await shown.press(text('app.enable'));
  await shown.until(() => expect(shown.sent('virtual_model.update')).toEqual([{ id: 2, enabled: true }]));
});

test('the price page lists virtual models with the price of each target, and nothing where there are none', async () => {
  const { PricingPage } = await import('../../web/features/pricing/pricing-page.tsx');
  const list = filled['pricing.get'] as Readonly<Record<string, unknown>>;
  const shown = await mounted(() => <PricingPage />, { path: '/pricing', user: people.user, answers: filled });
  const section = () => document.querySelector(`section[aria-label="${text('pricing.virtual')}"]`)?.textContent ?? '';
  await shown.until(() => expect(section()).toContain('coder'));
  expect(section()).toContain(text('prices.targetTokens', { input: '2.50', output: '10.00' }));
  expect(section()).toContain(text('prices.targetCall', { price: '0.04' }));
  const without = { ...filled, 'pricing.get': { ...list, virtual_models: undefined } };
  const plain = await mounted(() => <PricingPage />, { path: '/pricing', user: people.user, answers: without });
  await plain.until(() => expect(plain.text()).toContain('gpt-4o'));
  expect(section()).toBe('');
});
