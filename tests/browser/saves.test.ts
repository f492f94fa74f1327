/** Every page with every failure of what it saves or deletes: it is told, what was typed stays, and nothing claims success. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { en } from '../../web/locales/en.ts';
import { setUp } from '../binary/support.ts';
import { inShare } from '../support/often.ts';
import { enter, fail, failures, json, mount, withFaults } from './faults.ts';
import { openStage, type Stage } from './support.ts';

let stage: Stage;
let page: Page;
/** Who is inside, as the console keeps it. */
let user = '';

type Step = () => Promise<unknown>;
interface Save {
  readonly path: string;
  /** Opens and fills. */
  readonly fill?: readonly Step[];
  /** What sends it, each time. */
  readonly send: readonly Step[];
  /** Nothing is typed there: a login that ran out leads to the login. */
  readonly bare?: boolean;
  /** After the login: opens what it folded. */
  readonly again?: Step;
}

const dialog = (): Locator => page.getByRole('dialog').last();
const main = (): Locator => page.locator('main');
const pattern = (name: string): RegExp =>
  new RegExp(`^${name.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\{\w+\}\}/g, '.*')}`);
const button =
  (name: string, where: () => Locator = main, at = 0): Step =>
  () =>
    where()
      .getByRole('button', { name: pattern(name) })
      .nth(at)
      .click({ timeout: 10_000 });
const inDialog = (name: string): Step => button(name, dialog);
const type =
  (label: string, text: string, where: () => Locator = dialog): Step =>
  () =>
    where().getByLabel(label, { exact: true }).first().fill(text, { timeout: 60_000 });
/** The question that comes before what cannot be undone. */
const confirmed: Step = () => page.locator('[role=dialog] .button-danger').click();
/** Of the first row of a table. */
const menu: Step = () => page.locator('tbody button[aria-haspopup=menu]').first().click();
const item =
  (name: string): Step =>
  () =>
    page.getByRole('menuitem', { name, exact: true }).click();
const chosen: Step = () => page.locator('tbody input[type=checkbox]').first().check();
const bar = (): Locator => page.locator('section.fixed');

const saves: Readonly<Record<string, Save>> = {
  'a new token': { path: 'token?open=new', fill: [type(en.tokens.name, 'kept')], send: [inDialog(en.tokens.create)] },
  'a token': { path: 'token?open=1', fill: [type(en.tokens.name, 'kept')], send: [inDialog(en.app.save)] },
  'a new key of a token': {
    path: 'token',
    send: [menu, item(`${en.tokens.rotate}…`), confirmed],
    bare: true,
  },
  'switching a token off': { path: 'token', send: [menu, item(en.app.disable)], bare: true },
  'deleting a token': { path: 'token', send: [menu, item(en.app.delete), confirmed], bare: true },
  'deleting tokens': {
    path: 'token',
    fill: [chosen],
    send: [button(en.app.delete, bar), confirmed],
    bare: true,
  },
  'a new channel': {
    path: 'channel/add',
    fill: [
      () => dialog().getByRole('searchbox').fill('practice'),
      () => page.keyboard.press('Enter'),
      type(en.channels.name, 'kept'),
      type(en.channels.key, 'sk-kept'),
      inDialog(en.channels.fill),
    ],
    send: [inDialog(en.app.save)],
  },
  'a channel': { path: 'channel/edit/1', fill: [type(en.channels.name, 'kept')], send: [inDialog(en.app.save)] },
  'copying a channel': { path: 'channel', send: [menu, item(en.channels.copy)], bare: true },
  'switching a channel off': { path: 'channel', send: [menu, item(en.app.disable)], bare: true },
  'deleting a channel': { path: 'channel', send: [menu, item(en.app.delete), confirmed], bare: true },
  'the priority of a channel': {
    path: 'channel',
    fill: [
      async () => {
        await button(en.table.columns)();
        await page.getByLabel(en.channels.priority, { exact: true }).check();
        await page.keyboard.press('Escape');
      },
    ],
    send: [
      () => page.getByLabel(pattern(en.channels.priorityOf)).first().fill('7'),
      () => page.keyboard.press('Enter'),
    ],
    bare: true,
  },
  'the tag of channels': {
    path: 'channel',
    fill: [chosen, button(en.channels.setTag, bar), () => dialog().getByLabel(en.channels.tag).fill('kept')],
    send: [inDialog(en.channels.setTag)],
  },
  'deleting channels': {
    path: 'channel',
    fill: [chosen],
    send: [button(en.app.delete, bar), confirmed],
    bare: true,
  },
  'a tag': {
    path: 'channel?mode=tag',
    fill: [button(en.app.edit), type(en.channels.priority, '7')],
    send: [inDialog(en.app.save)],
  },
  'every channel of a tag': { path: 'channel?mode=tag', send: [button(en.channels.disableAll)], bare: true },
  'new codes': {
    path: 'redemption',
    fill: [button(en.redemption.add), type(en.redemption.name, 'kept')],
    send: [inDialog(en.app.save)],
  },
  'a code': {
    path: 'redemption',
    fill: [button(en.app.edit), type(en.redemption.name, 'kept')],
    send: [inDialog(en.app.save)],
  },
  'switching a code off': { path: 'redemption', send: [menu, item(en.app.disable)], bare: true },
  'deleting a code': { path: 'redemption', send: [menu, item(en.app.delete), confirmed], bare: true },
  'a new user': {
    path: 'user/edit',
    fill: [type(en.users.username, 'kept'), type(en.users.password, 'password1')],
    send: [inDialog(en.app.save)],
  },
  'a user': { path: 'user/edit/1', fill: [type(en.users.displayName, 'kept')], send: [inDialog(en.app.save)] },
  'a ban': { path: 'user', send: [menu, item(en.users.ban)], bare: true },
  'closing an account': { path: 'user', send: [menu, item(en.users.close), confirmed], bare: true },
  'a setting': {
    path: 'setting?tab=other',
    fill: [type('System name', 'kept', main)],
    send: [
      () =>
        page
          .locator('form', { has: page.getByLabel('System name') })
          .getByRole('button', { name: en.app.save, exact: true })
          .click(),
    ],
  },
  'deleting logs': {
    path: 'setting?tab=operation',
    send: [button(en.settings.clearLogs), confirmed],
    bare: true,
  },
  'a price': {
    path: 'setting?tab=operation&block=visual',
    fill: [
      () => page.getByLabel(en.prices.search).fill('practice-small'),
      () => page.getByRole('button', { name: 'Edit practice-small' }).click(),
      type(en.prices.input, '8'),
      inDialog(en.prices.take),
      () => page.getByRole('button', { name: /^Save \(/ }).click(),
    ],
    send: [inDialog(en.app.save)],
  },
  'the own name': {
    path: 'personal',
    fill: [type(en.personal.displayName, 'kept', main)],
    send: [button(en.app.save)],
  },
  'the own password': {
    path: 'personal',
    fill: [
      button(en.personal.changePassword),
      type(en.personal.oldPassword, 'password1'),
      type(en.account.newPassword, 'password2'),
      type(en.account.password2, 'password2'),
    ],
    send: [inDialog(en.personal.changePassword)],
  },
  'a token of full access': { path: 'personal', send: [button(en.personal.accessToken)], bare: true },
  'an access token': {
    path: 'personal',
    fill: [button(en.personal.newAccessToken), type(en.tokens.name, 'kept')],
    send: [inDialog(en.personal.createToken)],
  },
  'the address of an account': {
    path: 'personal',
    fill: [
      button(`${en.account.email}: ${en.personal.bind}`),
      type(en.account.email, 'kept@example.com'),
      type(en.account.code, '123456'),
    ],
    send: [inDialog(en.personal.bind)],
  },
  alerts: {
    path: 'personal',
    fill: [type(en.personal.noticeEmail, 'kept@example.com', main)],
    send: [
      () =>
        page
          .locator('form', { has: page.getByLabel(en.personal.noticeEmail, { exact: true }) })
          .getByRole('button', { name: en.app.save, exact: true })
          .click(),
    ],
  },
  'the second factor': { path: 'personal', send: [button(en.personal.turnOn)], bare: true },
  'ending other sessions': {
    path: 'personal',
    send: [button(en.personal.endOthers), confirmed],
    bare: true,
  },
  'closing the own account': {
    path: 'personal',
    fill: [button(en.personal.close), () => dialog().getByRole('textbox').fill('root')],
    send: [inDialog(en.personal.close)],
  },
  'redeeming a code': {
    path: 'topup',
    fill: [type(en.wallet.code, 'kept', main)],
    send: [button(en.wallet.redeemAction)],
  },
  'a filter': {
    path: 'user?q=roo',
    fill: [button(en.table.saved), () => page.getByLabel(en.table.filterName).fill('kept')],
    send: [
      () =>
        page
          .locator('form', { has: page.getByLabel(en.table.filterName) })
          .getByRole('button')
          .click(),
    ],
    // The panel folds under the login; what was typed into it is there when it is opened again.
    again: button(en.table.saved),
  },
};

beforeAll(async () => {
  stage = await openStage();
  await setUp(stage.sandbox, stage.upstream);
  await stage.sandbox.run(['redemption', 'create', '--name', 'gift', '--quota', '3000000', '--count', '1']);
  const made = stage.sandbox.run(['user', 'create', '--username', 'ann', '--password-stdin'], 'password1\n');
  expect((await made).code).toBe(0);
  page = await stage.newPage(await stage.newContext(true));
  await withFaults(page);
  await enter(stage, page);
  const tagged = await page.evaluate(() =>
    fetch('/api/channel/', {
      method: 'PUT',
      headers: { 'content-type': 'application/json', 'new-api-user': '1' },
      body: '{"id":1,"tag":"spare"}',
    }).then((answer) => answer.json()),
  );
  expect(tagged).toMatchObject({ success: true });
  user = await page.evaluate(() => localStorage.getItem('user') ?? '');
  // A second browser, whose session may be ended.
  await enter(stage, await stage.newPage(await stage.newContext(true)));
});
afterAll(() => stage?.close());

interface Shown {
  readonly errors: readonly string[];
  readonly claims: readonly string[];
  readonly typed: readonly string[];
}

/** What is complained about and claimed, and what stands in the fields. */
const shown = (): Promise<Shown> =>
  page.evaluate(() => {
    const texts = (marks: string) => [...document.querySelectorAll(marks)].map((one) => one.textContent ?? '');
    const fields = document.querySelectorAll<HTMLInputElement>('form input');
    return {
      errors: texts(
        '[data-sonner-toast][data-type=error], [role=alert], [aria-invalid=true] ~ p, [data-failure]',
      ).filter((text) => text !== ''),
      claims: texts('[data-sonner-toast][data-type=success]'),
      typed: [...fields].filter(({ type: kind }) => kind !== 'checkbox' && kind !== 'radio').map(({ value }) => value),
    };
  });
const forgetToasts = (): Promise<void> =>
  page.evaluate(async () => {
    for (const one of document.querySelectorAll<HTMLElement>('[data-sonner-toast] [data-close-button]')) one.click();
    const until = performance.now() + 2000;
    while (document.querySelector('[data-sonner-toast]') !== null && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 10));
  });

/** @returns what a failing save did wrong. */
async function attempts(name: string, { send }: Save, how: (typeof failures)[string]): Promise<string[]> {
  await fail(page, null);
  await forgetToasts();
  const before = await shown();
  await fail(page, { how, only: null, writesOnly: true });
  for (const step of send) await step();
  const until = performance.now() + 5000;
  let after = await shown();
  const hasNewError = () => after.errors.some((text) => !before.errors.includes(text));
  while (!hasNewError() && performance.now() < until) after = await shown();
  const kept = before.typed.every((text) => text === '' || after.typed.includes(text));
  return [
    ...(hasNewError() ? [] : [`${name}: silent`]),
    ...(kept ? [] : [`${name}: ${before.typed.join('|')} became ${after.typed.join('|')}`]),
    ...after.claims.map((claim) => `${name}: claims ${claim}`),
  ];
}

/** What was typed stays under the login that is asked for; where nothing was, the login stands in its own page. */
async function endedSession(name: string, { send, again, bare = false }: Save): Promise<string[]> {
  await fail(page, null);
  await forgetToasts();
  const before = await shown();
  await fail(page, { how: json(401, 'log in again'), only: null, writesOnly: true });
  for (const step of send) await step();
  if (bare) await page.waitForURL('**/login?expired=true');
  else await page.getByText(en.account.againHelp).waitFor();
  if (again !== undefined) {
    await fail(page, null);
    await type(en.login.username, 'root')();
    await type(en.login.password, 'password1')();
    await inDialog(en.login.submit)();
    await page.getByText(en.account.againHelp).waitFor({ state: 'detached' });
    await again();
  }
  const after = bare ? before : await shown();
  return before.typed.every((text) => text === '' || after.typed.includes(text))
    ? []
    : [`${name}: ${before.typed.join('|')} became ${after.typed.join('|')}`];
}

test.each(Object.keys(saves))(
  '%s',
  async (name) => {
    const save = saves[name];
    if (save === undefined) throw new Error(name);
    await page.evaluate((text) => localStorage.setItem('user', text), user);
    await page.goto(`${stage.url}/nowhere`);
    await page.locator('main h1').waitFor();
    await mount(page, save.path, null);
    for (const step of save.fill ?? []) await step();
    const wrong: string[] = [];
    const index = Object.keys(saves).indexOf(name);
    const kinds = Object.entries(failures).filter((_, at) => inShare(index, at));
    for (const [kind, how] of kinds) wrong.push(...(await attempts(`${name}: ${kind}`, save, how)));
    wrong.push(...(await endedSession(`${name}: 401`, save)));
    expect(wrong).toEqual([]);
  },
  90_000,
);
