/**
 * What three fields for amounts store of everything that people type, end to end in Chromium: the amount that was meant,
 * or an error beside the field. Needs `npm run build` and Chromium.
 */
import { openInside } from '../../../tests/browser/inside.ts';
import { typed, withCurrency } from '../../../tests/web/typed-amounts.ts';
import { en } from '../../../web/locales/en.ts';

const quotaPerUnit = 500_000;
const inside = await openInside();
const { page, ask, open } = inside;
await ask('POST', '/api/user/', { username: 'ann', password: 'password1' });
const numberOf = async (path: string, name: string): Promise<number> => {
  const found = await ask('GET', path);
  const row = Array.isArray(found) ? found[0] : ((found as { items?: unknown[] }).items?.[0] ?? found);
  return Number((row as Record<string, unknown> | undefined)?.[name] ?? 0);
};
const quotaOfUser = () => numberOf('/api/user/2', 'quota');
let before = await quotaOfUser();

interface AttemptSummary {
  readonly path: string;
  readonly label: string;
  /** Besides the amount. */
  readonly name: string | null;
  readonly stored: () => Promise<number>;
}
const fields: Readonly<Record<string, AttemptSummary>> = {
  'quota of a key': {
    path: 'token?open=new',
    label: en.tokens.quota,
    name: en.tokens.name,
    stored: () => numberOf('/api/token/?p=0&size=1', 'remain_quota'),
  },
  'worth of a code': {
    path: 'redemption',
    label: en.redemption.quota,
    name: en.redemption.name,
    stored: () => numberOf('/api/redemption/?p=1&page_size=1', 'quota'),
  },
  'quota added to a user': {
    path: 'user/edit/2',
    label: en.users.addQuota,
    name: null,
    stored: async () => {
      const now = await quotaOfUser();
      const added = now - before;
      before = now;
      return added;
    },
  },
};

let silent = 0;
for (const [what, { path, label, name, stored }] of Object.entries(fields)) {
  let [rejected, kept] = [0, 0];
  let isOpen = false;
  const inputs = [...typed, ...withCurrency];
  for (const [text, means] of inputs) {
    if (!isOpen) {
      await open(path);
      if (path === 'redemption')
        await page.getByRole('button', { name: en.redemption.add, exact: true }).first().click();
      isOpen = true;
    }
    const dialog = page.getByRole('dialog').last();
    const field = dialog.getByLabel(label, { exact: true });
    await field.fill(text);
    if (name !== null) await dialog.getByLabel(name, { exact: true }).fill('tried');
    await dialog.locator('button[type=submit]').click();
    const invalid = field.and(page.locator('[aria-invalid=true]'));
    const failed = dialog.getByRole('alert').filter({ hasText: /\S/ });
    const done = page.getByText(en.tokens.reveal).or(page.locator('body:not(:has([role=dialog]))'));
    await invalid.or(failed).or(done).first().waitFor();
    if ((await invalid.count()) > 0 || ((await failed.count()) > 0 && (await done.count()) === 0)) {
      rejected++;
      continue;
    }
    isOpen = false;
    const value = await stored();
    const meant = means === null ? (text.trim() === '' ? 0 : null) : Math.round(means * quotaPerUnit);
    if (value === meant) kept++;
    else {
      silent++;
      console.log(`SILENT ${what}: "${text}" became ${value}, meant ${meant}`);
    }
  }
  console.log(`${what}: ${inputs.length} inputs, ${kept} stored as meant, ${rejected} refused`);
}
await inside.stage.close();
console.log(`silent changes: ${silent}`);
process.exit(silent === 0 ? 0 : 1);
