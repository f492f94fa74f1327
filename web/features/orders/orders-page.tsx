/** Top-up orders of everybody, and what payment providers reported: where a missing payment is looked for. */
import { useTranslation } from 'react-i18next';
import { PageHead } from '../../components/page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { useUrl } from '../../lib/url.ts';
import { CallbackTable } from './callback-table.tsx';
import { OrderTable } from './order-table.tsx';

export function OrdersPage() {
  const { t } = useTranslation();
  const url = useUrl();
  const view = url.get('view') === 'callbacks' ? 'callbacks' : 'orders';
  return (
    <>
      <PageHead title={t('orders.title')} />
      <Tabs
        label={t('orders.title')}
        value={view}
        tabs={[
          ['orders', t('orders.orders')],
          ['callbacks', t('orders.callbacks')],
        ]}
        onChange={(next) => url.set('view', next === 'orders' ? '' : next)}
      >
        <div className="pt-3">{view === 'orders' ? <OrderTable /> : <CallbackTable />}</div>
      </Tabs>
    </>
  );
}
