/** Top-up orders of everybody, and what payment providers reported: where a missing payment is looked for. */
import { useTranslation } from 'react-i18next';
import { InvoiceTable } from '../../components/invoices/invoice-table.tsx';
import { PageHead } from '../../components/page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { useUrl } from '../../lib/url.ts';
import { CallbackTable } from './callback-table.tsx';
import { OrderTable } from './order-table.tsx';

const AllInvoices = () => <InvoiceTable of="all" />;
const tables = { orders: OrderTable, invoices: AllInvoices, callbacks: CallbackTable } as const;
const views = ['orders', 'invoices', 'callbacks'] as const;

export function OrdersPage() {
  const { t } = useTranslation();
  const url = useUrl();
  const view = views.find((one) => one === url.get('view')) ?? 'orders';
  const View = tables[view];
  return (
    <>
      <PageHead title={t('orders.title')} />
      <Tabs
        label={t('orders.title')}
        value={view}
        tabs={[
          ['orders', t('orders.orders')],
          ['invoices', t('invoices.title')],
          ['callbacks', t('orders.callbacks')],
        ]}
        onChange={(next) => url.set('view', next === 'orders' ? '' : next)}
      >
        <div className="pt-3">
          <View />
        </div>
      </Tabs>
    </>
  );
}
