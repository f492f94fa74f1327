/** Money in what the server writes by itself: refusals, mails, alerts, log rows, in the site's unit and currency. */
import { expect, test } from 'vitest';
import { conditions } from '../../server/domain/alerts/conditions.ts';
import type { Notice } from '../../server/domain/notifications/notice.ts';
import { createQuotaAlerts } from '../../server/domain/notifications/quota-alerts.ts';
import { figure } from '../support/figure.ts';
import { createTestGateway } from '../support/gateway.ts';

const settings = [1000, 500_000, 1_000_000].flatMap((unit) => [true, false].map((currency) => ({ unit, currency })));

/** Written anew here, on purpose: dollars with cents or six decimals, or quota short. */
function readings(quota: number, { unit, currency }: (typeof settings)[number]): readonly string[] {
  if (currency) return [2, 6].map((decimals) => (quota / unit).toFixed(decimals));
  if (quota >= 1e9) return [`${(quota / 1e9).toFixed(1)}B`];
  if (quota >= 1e6) return [`${(quota / 1e6).toFixed(1)}M`, String(quota)];
  return quota >= 1e4 ? [`${(quota / 1e3).toFixed(1)}k`, String(quota)] : [String(quota)];
}

test.each(settings)('messages that the server sends, a unit of $unit, currency $currency', async (site) => {
  const gateway = await createTestGateway({ quota: 2400 });
  try {
    await gateway.option('QuotaPerUnit', String(site.unit));
    await gateway.option('DisplayInCurrencyEnabled', String(site.currency));
    await gateway.option('ModelRatio', '{"gpt-4o":1}');
    await gateway.channel('http://127.0.0.1:9', { models: 'gpt-4o' });
    const { database, services, userId } = gateway;
    const places: (readonly [place: string, text: string, quota: number])[] = [];

    const refusal = async (key: string, language: string): Promise<string> => {
      const body = { model: 'gpt-4o', max_tokens: 9000, messages: [{ role: 'user', content: 'word '.repeat(9000) }] };
      const response = await gateway.chat(key, body, { 'accept-language': language });
      return ((await response.json()) as { error: { message: string } }).error.message;
    };
    const open = await gateway.token();
    const limited = await gateway.token({ unlimited_quota: false, remain_quota: 30 });
    const daily = await gateway.token({ day_budget: 20 });
    for (const language of ['en', 'zh']) {
      places.push([`refusal: user, ${language}`, await refusal(open.key, language), 2400]);
      places.push([`refusal: token, ${language}`, await refusal(limited.key, language), 30]);
      places.push([`refusal: daily limit, ${language}`, await refusal(daily.key, language), 20]);
    }

    for (const language of ['en', 'zh']) {
      const notices: Notice[] = [];
      await database.query
        .updateTable('users')
        .set({ setting: JSON.stringify({ language, quota_warning_threshold: 100_000 }) })
        .execute();
      const at = Math.floor(Date.now() / 1000);
      await gateway.ledger.execute({
        ...{ type: 'settle', ref: `spent-${language}`, userId, tokenId: 0, channelId: 0, amount: 200, at },
        ...{ log: null, tokens: 1, model: 'm', username: 'tester' },
      });
      await database.query.deleteFrom('alerts').execute();
      await createQuotaAlerts({
        database,
        options: services.options,
        notify: async (_user, notice) => void notices.push(notice),
        report: (error) => expect(error).toBeNull(),
        now: () => Date.now(),
      }).look();
      places.push([`mail: low balance, ${language}`, notices[0]?.content ?? '', language === 'en' ? 2200 : 2000]);
    }

    const details = { get: services.options.get, spent: 400_000_000_000, baseline: 20_000 } as never;
    await gateway.option('alert_setting.spend_limit', '1');
    await gateway.option('alert_setting.spend_factor', '2');
    for (const kind of ['spend_high', 'spend_unusual'] as const) {
      const values = conditions[kind](details)[0]?.values ?? {};
      places.push([`alert: ${kind}`, String(values.spent), 400_000_000_000]);
      places.push([
        `alert: ${kind}, beside it`,
        String(values.limit ?? values.usual),
        kind === 'spend_high' ? site.unit : 20_000,
      ]);
    }

    const wrong = places.filter(([, text, quota]) => !readings(quota, site).some((reading) => text.includes(reading)));
    const dollars = site.currency ? [] : places.filter(([, text]) => /[$＄]\d/.test(text));
    figure(`${places.length} places of the server, ${wrong.length + dollars.length} wrong`);
    expect([...wrong, ...dollars]).toEqual([]);
  } finally {
    await gateway.close();
  }
});
