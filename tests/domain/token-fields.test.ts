/** What a key may be limited to: the same for console, terminal, API and files. */
import { isIP } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { familyOf, isNetwork } from '../../server/contract/networks.ts';
import { networks } from '../../server/contract/option-kinds.ts';
import { tokenIssue } from '../../server/contract/token-fields.ts';

const group = fc.constantFrom('0', 'a', 'FFFF', '10', '255', '256', '', ':', '::', '1.2.3.4', 'g', '00001', '%eth0');
const addresses = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.array(group, { maxLength: 9 }).map((parts) => parts.join(':')),
  fc.array(fc.constantFrom('0', '1', '255', '256', '01', ''), { maxLength: 5 }).map((parts) => parts.join('.')),
);

test('an address is what the runtime takes for one, without a zone', () => {
  fc.assert(
    fc.property(addresses, (text) => familyOf(text) === (text.includes('%') ? 0 : isIP(text))),
    { numRuns: 500 },
  );
});

test.each([
  ['10.0.0.0/8', true],
  ['::1', true],
  ['2001:db8::/32', true],
  ['::ffff:10.0.0.1/104', true],
  ['0.0.0.0/0', true],
  ['10.0.0.0/33', false],
  ['2001:db8::/129', false],
  ['10.0.0.0/-1', false],
  ['10.0.0.0/8.5', false],
  ['10.0.0.0/', false],
  ['10.0.0.0/8/8', false],
  ['203.0.113.300', false],
  ['localhost', false],
  ['1:2:3:4:5:6:7:8::', false],
])('%s is a network: %s', (text, is) => {
  expect(isNetwork(text)).toBe(is);
  expect(networks.check(text) === null).toBe(is);
});

const now = 1_800_000_000;
test.each([
  [{ remain_quota: -5 }, 'token_amount'],
  [{ remain_quota: 1.5 }, 'token_amount'],
  [{ remain_quota: 1e16 }, 'token_amount'],
  [{ day_budget: -1 }, 'token_amount'],
  [{ month_budget: -1 }, 'token_amount'],
  [{ rpm_limit: -1 }, 'token_amount'],
  [{ tpm_limit: 1e12 }, 'token_amount'],
  [{ concurrency_limit: -1 }, 'token_amount'],
  [{ expired_time: 0 }, 'token_expiry_invalid'],
  [{ expired_time: -2 }, 'token_expiry_invalid'],
  [{ expired_time: now }, 'token_expiry_past'],
  [{ allow_ips: '10.0.0.1, 10.0.0.2\nnot-an-ip' }, 'token_addresses'],
  // What two empty variables leave: no address, and no limit.
  [{ allow_ips: ',' }, 'token_addresses'],
  [{ allow_ips: ' ,\n, ' }, 'token_addresses'],
])('a new key with %o is refused: %s', (given, code) => {
  expect(tokenIssue(given, null, now)).toMatchObject({ code });
});

test('limits that can hold are taken', () => {
  const given = { remain_quota: 0, day_budget: 0, rpm_limit: 999_999_999_999, expired_time: now + 1 };
  expect(tokenIssue({ ...given, allow_ips: ' 10.0.0.1 ,\n\n::1' }, null, now)).toBeNull();
  expect(tokenIssue({ expired_time: -1 }, null, now)).toBeNull();
});

test.each(['model_limits', 'allow_ips'] as const)('%s of a key may be of 65,535 characters and no longer', (field) => {
  const most = `${'10.0.0.1,'.repeat(7281)}1.1.1.`;
  expect(tokenIssue({ [field]: `${most.slice(0, -6)}::1   ` }, null, now)).toBeNull();
  expect(tokenIssue({ [field]: `${most}1` }, null, now)).toMatchObject({ code: 'token_list', params: { field } });
});

test('what is stored may be sent back, and a key that is there may be ended', () => {
  const stored = { remain_quota: -7, expired_time: -5, allow_ips: 'not-an-ip', model_limits: 'm'.repeat(70_000) };
  expect(tokenIssue({ ...stored, remain_quota: -3 }, stored, now)).toBeNull();
  expect(tokenIssue({ remain_quota: -8 }, stored, now)).toMatchObject({ code: 'token_amount' });
  expect(tokenIssue({ expired_time: 1000 }, stored, now)).toBeNull();
  expect(tokenIssue({ allow_ips: 'not-an-ip\n' }, stored, now)).toMatchObject({ code: 'token_addresses' });
});
