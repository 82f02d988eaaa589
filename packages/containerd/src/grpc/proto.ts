import protobuf from 'protobufjs'

/** What of containerd's content service is spoken here, by the names and numbers of its messages. */
const CONTENT = `
syntax = "proto3";
package containerd.services.content.v1;

message Timestamp { int64 seconds = 1; int32 nanos = 2; }
message Empty {}

message Info {
  string digest = 1;
  int64 size = 2;
  Timestamp created_at = 3;
  Timestamp updated_at = 4;
  map<string, string> labels = 5;
}
message InfoRequest { string digest = 1; }
message InfoResponse { Info info = 1; }
message UpdateRequest { Info info = 1; }
message UpdateResponse { Info info = 1; }
message ListContentRequest { repeated string filters = 1; }
message ListContentResponse { repeated Info info = 1; }
message DeleteContentRequest { string digest = 1; }
message ReadContentRequest { string digest = 1; int64 offset = 2; int64 size = 3; }
message ReadContentResponse { int64 offset = 1; bytes data = 2; }

message Status {
  Timestamp started_at = 1;
  Timestamp updated_at = 2;
  string ref = 3;
  int64 offset = 4;
  int64 total = 5;
  string expected = 6;
}
message StatusRequest { string ref = 1; }
message StatusResponse { Status status = 1; }
message ListStatusesRequest { repeated string filters = 1; }
message ListStatusesResponse { repeated Status statuses = 1; }

enum WriteAction { STAT = 0; WRITE = 1; COMMIT = 2; }
message WriteContentRequest {
  WriteAction action = 1;
  string ref = 2;
  int64 total = 3;
  string expected = 4;
  int64 offset = 5;
  bytes data = 6;
  map<string, string> labels = 7;
}
message WriteContentResponse {
  WriteAction action = 1;
  Timestamp started_at = 2;
  Timestamp updated_at = 3;
  int64 offset = 4;
  int64 total = 5;
  string digest = 6;
}
message AbortRequest { string ref = 1; }

service Content {
  rpc Info(InfoRequest) returns (InfoResponse);
  rpc Update(UpdateRequest) returns (UpdateResponse);
  rpc List(ListContentRequest) returns (stream ListContentResponse);
  rpc Delete(DeleteContentRequest) returns (Empty);
  rpc Read(ReadContentRequest) returns (stream ReadContentResponse);
  rpc Status(StatusRequest) returns (StatusResponse);
  rpc ListStatuses(ListStatusesRequest) returns (ListStatusesResponse);
  rpc Write(stream WriteContentRequest) returns (stream WriteContentResponse);
  rpc Abort(AbortRequest) returns (Empty);
}`

/** What \`baton content status\` asks the process that serves a node. */
const NODE = `
syntax = "proto3";
package baton.content.v1;

message StatusRequest {}
message StatusResponse { string json = 1; }

service Node {
  rpc Status(StatusRequest) returns (StatusResponse);
}`

export const contentService = serviceOf(CONTENT, 'containerd.services.content.v1.Content')
export const nodeService = serviceOf(NODE, 'baton.content.v1.Node')

type Message = Readonly<Record<string, unknown>>

/** A method of a service: where it is, and what goes in and out. */
export interface Rpc {
  readonly path: string
  readonly request: Codec
  readonly response: Codec
}

interface Codec {
  encode(message: object): Buffer
  /** Names as this code has them, and numbers as numbers: sizes of blobs are far below 2^53. */
  decode(bytes: Uint8Array): Message
}

function serviceOf(text: string, name: string): Readonly<Record<string, Rpc>> {
  const service = protobuf.parse(text).root.resolveAll().lookupService(name)
  const rpcs = service.methodsArray.map(({ name: method, resolvedRequestType, resolvedResponseType }) => {
    const codecs = { request: codecOf(resolvedRequestType!), response: codecOf(resolvedResponseType!) }
    return [method, { path: `/${name}/${method}`, ...codecs }] as const
  })
  return Object.fromEntries(rpcs)
}

function codecOf(type: protobuf.Type): Codec {
  const conversion = { longs: Number, defaults: true, arrays: true }
  return {
    encode: (message) => type.encode(message as Message).finish() as Buffer,
    decode: (bytes) => type.toObject(type.decode(bytes), conversion),
  }
}
