import protobuf from 'protobufjs'

/**
 * What of etcd's API is spoken here, with the numbers of etcdserverpb/rpc.proto and mvccpb/kv.proto (release 3.4). Keys and values are `bytes`
 * there, which is the same on the wire: here they are text, and nobody handles buffers.
 */
const ETCD = `
syntax = "proto3";
package etcdserverpb;

message Header { uint64 cluster_id = 1; uint64 member_id = 2; int64 revision = 3; }

message KeyValue {
  string key = 1;
  int64 create_revision = 2;
  int64 mod_revision = 3;
  int64 version = 4;
  string value = 5;
  int64 lease = 6;
}
message RangeRequest {
  string key = 1;
  string range_end = 2;
  int64 limit = 3;
  int32 sort_order = 5;
  int32 sort_target = 6;
  bool serializable = 7;
  bool keys_only = 8;
  bool count_only = 9;
  int64 min_mod_revision = 10;
}
message RangeResponse { repeated KeyValue kvs = 2; int64 count = 4; }
message PutRequest { string key = 1; string value = 2; int64 lease = 3; }
message DeleteRangeRequest { string key = 1; string range_end = 2; }
message RequestOp {
  oneof request {
    RangeRequest range = 1;
    PutRequest put = 2;
    DeleteRangeRequest delete_range = 3;
    TxnRequest txn = 4;
  }
}
message ResponseOp {
  oneof response {
    RangeResponse range = 1;
    TxnResponse txn = 4;
  }
}
message Compare {
  int32 result = 1;
  int32 target = 2;
  string key = 3;
  oneof target_union { int64 create_revision = 5; int64 mod_revision = 6; }
  string range_end = 64;
}
message TxnRequest { repeated Compare compare = 1; repeated RequestOp success = 2; repeated RequestOp failure = 3; }
message TxnResponse { Header header = 1; bool succeeded = 2; repeated ResponseOp responses = 3; }
message CompactionRequest { int64 revision = 1; }

message WatchRequest {
  oneof request_union { WatchCreateRequest create = 1; WatchCancelRequest cancel = 2; }
}
message WatchCreateRequest {
  string key = 1;
  string range_end = 2;
  int64 start_revision = 3;
  bool progress_notify = 4;
  bool fragment = 8;
}
message WatchCancelRequest { int64 watch_id = 1; }
message Event { int32 type = 1; KeyValue kv = 2; }
message WatchResponse {
  Header header = 1;
  int64 watch_id = 2;
  bool created = 3;
  bool canceled = 4;
  int64 compact_revision = 5;
  string cancel_reason = 6;
  bool fragment = 7;
  repeated Event events = 11;
}

message LeaseGrantRequest { int64 ttl = 1; int64 id = 2; }
message LeaseRequest { int64 id = 1; }
message LeaseKeepAliveResponse { int64 id = 2; int64 ttl = 3; }
message LeaseTimeToLiveResponse { int64 ttl = 3; int64 granted_ttl = 4; }

message AlarmRequest {}
message AlarmMember { int32 alarm = 2; }
message AlarmResponse { repeated AlarmMember alarms = 2; }
message StatusResponse { Header header = 1; string version = 2; int64 db_size = 3; uint64 leader = 4; int64 db_size_in_use = 9; }

message AuthenticateRequest { string name = 1; string password = 2; }
message AuthenticateResponse { string token = 2; }
message Empty {}
`

const root = protobuf.parse(ETCD).root.resolveAll()

/** An int64 as protobufjs has it: with the package `long` beside it, an object. */
export type Int64 = number | { readonly low: number; readonly high: number }

export function numberOf(value: Int64): number {
  return typeof value === 'number' ? value : value.high * 2 ** 32 + (value.low >>> 0)
}

export function encoderOf<Message extends object>(name: string): (message: Message) => Buffer {
  const type = root.lookupType(name)
  return (message) => type.encode(message as Record<string, unknown>).finish() as Buffer
}

/** Fields that were not sent have their defaults. */
export function decoderOf<Message>(name: string): (bytes: Buffer) => Message {
  const type = root.lookupType(name)
  return (bytes) => type.decode(bytes) as unknown as Message
}

/** A method of etcd: where it is, and what goes in and comes out. */
export interface Rpc<Request, Response> {
  readonly path: string
  readonly encode: (request: Request) => Buffer
  readonly decode: (bytes: Buffer) => Response
}

export interface Header {
  readonly memberId: Int64
  readonly revision: Int64
}
