// @vitest-environment happy-dom
/** Ways through the console that no single press finds: what follows from one another, what is typed in between, what comes later. */
import { beforeAll } from 'vitest';
import { empty, filled, people } from '../../support/answers.ts';
import { pressViews } from '../press-views.ts';
import { failures, sheets, views } from '../views.ts';

const { root, user: mira } = people;
const refusal = (code: string, status: number, message: string) =>
  Response.json({ success: false, code, message }, { status });
/** Refused once, then answered. */
function once(response: () => Response, data: unknown = null) {
  let count = 0;
  return () => (count++ === 0 ? response() : data);
}
/** As Telegram packs what it signed. */
const packed = (fields: object): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(fields))))
    .replaceAll('+', '-')
    .replaceAll('/', '_');
const words = (text: string) =>
  Response.json(
    { choices: [{ message: { content: text } }], usage: { prompt_tokens: 3, completion_tokens: 4 } },
    { headers: { 'x-oneapi-request-id': '20261126093000abcd' } },
  );

const site = (more: object) => ({ 'status.get': { ...(filled['status.get'] as object), ...more } });
const loginAgain = () => refusal('login_again_needed', 403, 'Log in again');

/** As when the console starts: what is typed in forms is known. */
beforeAll(async () => (await import('../../../web/lib/dirty-form.ts')).watchForms());

pressViews({
  'walk-new-key': {
    ...views.tokens,
    more: { 'POST /v1/chat/completions': words('Hello.') },
    steps: [
      'press Add key',
      'type Name = ci',
      'type May spend = 3',
      'press Create and show',
      'press Send a test request for me',
      'wait 1',
      'press Copy',
      'press Give to somebody…',
    ],
  },
  'walk-new-key-refused': {
    ...views['tokens-empty'],
    more: {
      'user.models': ['gpt-4o'],
      'POST /v1/chat/completions': Response.json({ error: { message: 'No channel' } }, { status: 503 }),
    },
    steps: ['press Add key', 'press Create and show', 'press Send a test request for me', 'wait 3', 'wait 3'],
  },
  'walk-key-models': {
    ...views['tokens-empty'],
    steps: [
      'press Add key',
      'press Only these',
      'type Models… = gpt',
      'key Enter',
      'type Models… = gpt-4o, own-model nothing',
      'key Enter',
      'type Models… = ',
      'key Backspace',
      'key ArrowDown',
      'key Enter',
      'key Escape',
    ],
  },
  'walk-palette': {
    path: '/token',
    user: root,
    answers: filled,
    steps: [
      'key Control+k',
      'type Pages… = g',
      'type Pages… = gpt',
      'key ArrowDown',
      'key ArrowDown',
      'key ArrowUp',
      'key End',
      'key Home',
      'key Enter',
      'key Control+k',
      'type Pages… = 20261126093000abcd',
      'key Enter',
      'key Control+k',
      'type Pages… = east',
      'key ArrowDown',
      'key Enter',
      'key Control+k',
      'type Pages… = nothing like it',
      'key Enter',
      'key Escape',
    ],
  },
  'walk-palette-user': {
    path: '/token',
    user: mira,
    answers: filled,
    steps: ['key Control+k', 'type Pages… = 中文', 'key Enter', 'key Control+k', 'type 页面… = laptop', 'key Enter'],
  },
  'walk-simulate': {
    ...views['pricing-root'],
    steps: [
      // The list of models is not in the way.
      'press Simulate…',
      'type Change of prices = 10',
      'press Calculate',
      'press Apply to…',
      'press Simulate…',
      'type Model = gpt-4o',
      'key Enter',
      'type In $/1M = 3',
      'type Out $/1M = 12',
      'press 30 days',
      'press Calculate',
      'press Apply to…',
    ],
  },
  'walk-simulate-refused': {
    ...views['pricing-root'],
    more: { 'ratio.simulate': () => refusal('busy', 500, 'Too much is being simulated') },
    steps: [
      'press Simulate…',
      'type Model = nothing',
      'key Escape',
      'press Calculate',
      'type Model = ',
      'key Escape',
      'press Calculate',
      'press Close',
    ],
  },
  'walk-prices': {
    path: '/setting?tab=operation&block=visual',
    user: root,
    answers: filled,
    steps: [
      'press Add a model',
      'press Done',
      'type Model = new-model',
      'type Input… = 3',
      'type Output… = 12',
      'press Done',
      'press Edit gpt-4o',
      'press ratios',
      'type Model ratio = x',
      'press Done',
      'type Model ratio = 2',
      'press per request',
      'type Fixed price… = 0',
      'press Done',
      'type Fixed price… = 0.5',
      'press Done',
      'press Save (…',
      'press Save',
      'undo',
    ],
  },
  'walk-unset': {
    path: '/setting?tab=operation&block=unset_models',
    user: root,
    answers: filled,
    steps: [
      'press Set for…',
      'press gpt-5.1',
      'press Set for…',
      'type Fixed price… = 2',
      'press Set for…',
      'press Save (…',
      'press Save',
    ],
  },
  'walk-price-history': {
    path: '/setting?tab=operation&block=history',
    user: root,
    answers: filled,
    steps: ['press Show change 102', 'press Roll back this change'],
  },
  'walk-price-maps': {
    path: '/setting?tab=operation&block=model',
    user: root,
    answers: filled,
    steps: ['press Reset to default prices', 'press Reset to default prices'],
  },
  'walk-login-again': {
    ...views.users,
    more: { 'user.manage': once(loginAgain), 'session.login': root },
    steps: [
      'press More for mira',
      'press Disable',
      'press Log in',
      'type Username or email = root',
      'type Password = password9',
      'press Log in',
    ],
  },
  'walk-login-again-other': {
    ...views.users,
    more: { 'user.manage': once(loginAgain), 'session.login': mira },
    steps: [
      'press More for mira',
      'press Disable',
      'type Username or email = mira',
      'type Password = password9',
      'press Log in',
    ],
  },
  'walk-login-again-left': {
    ...views.users,
    more: { 'user.manage': loginAgain },
    steps: ['press More for mira', 'press Disable', 'key Escape'],
  },
  'walk-session-ended': {
    ...views.account,
    more: { 'user.update_self': () => refusal('unauthorized', 401, 'Log in first') },
    steps: [
      'type Display name = abc',
      'press Save',
      'type Username or email = mira',
      'type Password = password9',
      'press Log in',
    ],
  },
  'walk-banned': {
    ...views.tokens,
    more: { 'token.update': () => refusal('user_disabled', 403, 'You are banned') },
    steps: ['press More for laptop', 'press Disable'],
  },
  'walk-second-step': {
    ...views.login,
    more: { 'session.login': { ticket: 't1' } },
    steps: [
      'type Username or email = mira',
      'type Password = password9',
      'press Log in',
      'type Authentication code = 123456',
      'press Log in',
    ],
  },
  'walk-second-step-refused': {
    ...views['oauth-callback'],
    more: { 'oauth.callback': { ticket: 't1' }, 'second_factor.login': () => refusal('code', 400, 'Wrong code') },
    steps: ['type Authentication code = 123456', 'press Log in'],
  },
  'walk-playground': {
    ...views.playground,
    more: { 'POST /pg/chat/completions': words('# Hello\n\nthere `you`\n\n```js\nlet a = 1;\n```\n') },
    steps: [
      'type Say something… = Say hello',
      'key Enter',
      'wait 2',
      'press Copy the…',
      'press Compare models',
      'press Ask gpt-4o again',
      'wait 2',
      'press Edit',
      'key Escape',
      'press Edit',
      'type Say something… = Say more',
      'press Send',
      'wait 8',
      'press Code',
      'press Code',
      'press Clear context',
    ],
  },
  'walk-playground-refused': {
    ...views.playground,
    more: { 'POST /pg/chat/completions': () => Response.json({ error: { message: 'No channel' } }, { status: 503 }) },
    steps: [
      'press Send',
      'type Temperature = 5',
      'type Say something… = Hi',
      'press Send',
      'type Temperature = 1',
      'press Send',
    ],
  },
  'walk-tag': {
    ...views['channels-tags'],
    steps: [
      'press Edit',
      'press Save',
      'type Model mapping = {',
      'press Save',
      'type Model mapping = ',
      'type Priority = 5',
      'press Save',
      'press Disable all',
      'press Enable all',
    ],
  },
  'walk-tag-refused': {
    ...views['channels-tags'],
    more: { 'channel.tag_edit': () => refusal('no', 500, 'It may not be') },
    steps: ['press Edit', 'type Weight = 3', 'press Save'],
  },
  'walk-channels-selected': {
    ...views.channels,
    steps: [
      'press Select all rows on this page',
      'press Test',
      'press Disable',
      'undo',
      'press Select row 21',
      'press Select row 22',
      'press Set tag',
      'type Tag = new',
      'press Set tag',
      'undo',
      'press Select row 23',
      'press Delete',
      'press Delete',
    ],
  },
  'walk-channel-add': {
    ...sheets['channel-add'],
    steps: [
      'type Search 4 providers… = anth',
      'key ArrowDown',
      'key Enter',
      'type Name = mine',
      'type Key = sk-1',
      'type API address = https://a.example/v1',
      'press Default models',
      'press Save',
      'press Save',
    ],
  },
  'walk-channel-key': {
    ...sheets['channel-add'],
    steps: ['type Search 4 providers… = sk-ant-0123456789012345678901', 'wait 1', 'press Save'],
  },
  'walk-failures-user': { ...failures.user, steps: ['press Try again', 'press Try again #2'] },
  'walk-wallet-empty': {
    ...views['wallet-empty'],
    answers: { ...empty, ...site({ enable_online_topup: true }) },
    steps: ['press Alipay', 'press Pay'],
  },
  'walk-telegram': {
    ...views['oauth-callback'],
    path: `/oauth/telegram?state=s1#tgAuthResult=${packed({ id: 7, first_name: 'Mira ???>>>~~~', hash: 'ab' })}`,
    steps: ['wait 1'],
  },
  'walk-telegram-bound': {
    path: `/oauth/telegram?state=s1#tgAuthResult=${packed({ id: 7 })}`,
    user: mira,
    answers: filled,
    steps: ['wait 1'],
  },
  'walk-telegram-without-state': {
    path: '/oauth/telegram#tgAuthResult=x',
    user: null,
    answers: filled,
    steps: ['wait 1'],
  },
  'walk-oauth-bound': {
    path: '/oauth/github?code=c1',
    user: mira,
    answers: filled,
    more: { 'oauth.callback': null },
    steps: ['wait 1'],
  },
  'walk-oauth-unknown': { path: '/oauth/nobody?code=c1', user: mira, answers: filled, steps: ['wait 1'] },
  'walk-register': {
    ...views.register,
    steps: [
      'type Username = abc',
      'type Password = 1234567',
      'type Confirm password = 1234567',
      'press Create an account',
      'type Password = 12345678',
      'press Create an account',
      'type Confirm password = 12345678',
      'press Create an account',
    ],
  },
  'walk-logs': {
    ...views['logs-root'],
    steps: [
      'press Live',
      'wait 6',
      'press Live',
      'press Time',
      'press Export',
      'press CSV',
      'press Export',
      'press JSONL',
    ],
  },
  'walk-site-without-answer': {
    path: '/token',
    user: mira,
    answers: filled,
    more: {
      'token.search': () => new Response('<html>', { status: 502 }),
      'token.list': () => new Response('<html>', { status: 502 }),
    },
    steps: ['press Try again'],
  },
});
