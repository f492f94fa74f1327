/** Errors of the console’s API: redemption codes, wallet, invitations. */
import { business, type ErrorRow, row } from './row.ts';

export const walletErrors = {
  redemption_name_length: business('兑换码名称长度必须在1-20之间', 'The name of a code needs 1 to 20 characters', 2),
  redemption_count_low: business('兑换码个数必须大于0', 'The number of codes must be above 0', 2),
  redemption_count_high: business('一次兑换码批量生成的个数不能大于 100', 'At most 100 codes can be made at once', 2),
  redemption_quota: business('兑换码额度必须大于0', 'The quota of a code must be above 0', 2),
  redemption_used_edit: business('已使用的兑换码不能修改', 'A used code cannot be changed', 6),
  redemption_key_missing: business('未提供兑换码', 'No redemption code was given', 2),
  redemption_invalid: business('兑换失败，无效的兑换码', 'Invalid redemption code', 5),
  redemption_expired: business('兑换失败，该兑换码已过期', 'The redemption code has expired', 6),
  redemption_expiry: business('过期时间不能早于当前时间', 'The time of expiry must lie in the future', 2),
  redemption_used: business('兑换失败，该兑换码已被使用', 'The redemption code has been used already', 6),
  topup_minimum: business('充值数量不能小于{min}', 'The top-up must be at least {min}', 2),
  topup_money_low: business('充值金额过低', 'The amount to pay is too small', 2),
  topup_unconfigured: business('管理员未开启在线充值！', 'Online top-up is not available', 6),
  topup_pay_failed: row(502, 'api_error', 7, 'host', '拉起支付失败', 'The payment could not be started', 200),
  topup_unpaid: business('订单未支付，或已全部退款', 'The order is not paid, or was given back in full', 6),
  topup_refund_amount: business(
    '退款金额必须大于 0 且不超过 {most}',
    'What is given back must be above 0 and at most {most}',
    2,
  ),
  topup_refund_small: business(
    '退款金额过小，不足以扣回额度',
    'What is given back is too small: no quota goes with it',
    2,
  ),
  topup_refund_changed: business(
    '该订单已退款 {refunded}，与所给的不符',
    'This order has given back {refunded}, not what was stated',
    6,
  ),
  topup_paid: business('订单已支付', 'The order has been paid already', 6),
  affiliate_minimum: business('划转失败：最低划转额度为 {min}', 'Transfer failed: the minimum is {least}', 2),
  affiliate_insufficient: business('划转失败：可划转额度不足', 'Transfer failed: insufficient invitation earnings', 6),
  log_time_required: business('请选择日志清理的截止时间', 'Choose a cut-off time', 2),
  secret_unreadable: row(
    500,
    'api_error',
    1,
    'ours',
    '无法解密（{purpose}）：密钥文件与数据库不匹配',
    'Cannot decrypt ({purpose}): the key file does not belong to this database',
    500,
  ),
  user_insufficient: business('用户余额不足', 'Insufficient balance', 6),
  balance_too_large: business(
    '余额不能超过 {limit}（全站发放总额亦同）',
    'No balance, nor all that was ever granted together, may exceed {limit}',
    2,
  ),
} as const satisfies Record<string, ErrorRow>;
